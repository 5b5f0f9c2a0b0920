# A comment stays.
-brand = Aurora
hello = Hello, { $name } and all!
about = About { -brand }
    .title = A title
    .accesskey = A
long =
    A text that goes
    on over lines.
emails =
    { $count ->
        [one] One message.
       *[other] { $count } messages.
    }
around = You have { NUMBER($n, type: "ordinal") ->
    [0] no dogs
   *[other] { $n } dogs
} here.
brace = A brace { "{" } here.
empty =
