<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" sourcelanguage="en">
<context>
    <name>Main</name>
    <message>
        <location filename="main.cpp" line="1"/>
        <source>Open %1 &amp; close</source>
        <extracomment>A comment stays.</extracomment>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>a dog</source>
        <translation>un chien</translation>
    </message>
    <message numerus="yes">
        <source>%n dog(s)</source>
        <translation type="unfinished"><numerusform></numerusform><numerusform></numerusform></translation>
    </message>
    <message>
        <source>a cat</source>
        <translation type="vanished">un chat</translation>
    </message>
    <message>
        <source>with a <byte value="x1b"/> byte</source>
        <translation type="unfinished"/>
    </message>
</context>
</TS>
