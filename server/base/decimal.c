#include "server/base/decimal.h"
#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* digits[0].digits[1]... x 10^exponent */
struct decimal {
    char digits[DECIMAL_MOST];
    int significant; /* digits but for the zeros at the end, at least 1 */
    int exponent;
};

/* The quick way's range: all floats, but for the least of the subnormal ones. */
static const double least = 1e-44, greatest = 1e40;
static const double powers[] = {
    1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17,
    1e18, 1e19, 1e20, 1e21, 1e22, 1e23, 1e24, 1e25, 1e26, 1e27, 1e28, 1e29, 1e30, 1e31, 1e32, 1e33, 1e34, 1e35,
    1e36, 1e37, 1e38, 1e39, 1e40, 1e41, 1e42, 1e43, 1e44, 1e45, 1e46, 1e47, 1e48, 1e49, 1e50, 1e51, 1e52, 1e53,
};

/* The decimal exponent of the power of two that value > 0 begins with: value's own, or one less. */
static int exponent_of(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    int binary = (int)(bits >> 52) - 1023;                /* subnormal floats are normal doubles */
    return (int)(binary * 0.30102999566398120 + 64) - 64; /* log10(2); truncating a positive number rounds down */
}

/* value / 10^exponent: so many digits before the point. Powers to 10^22 are exact, so this is off by some 1e-7 at most. */
static double scaled(double value, int exponent, int digits) {
    int shift = digits - 1 - exponent;
    return shift >= 0 ? value * powers[shift] : value / powers[-shift];
}

/* The half that rounding is about is so near that only all digits of the value tell on which side it is. */
static bool is_tie(double number) {
    return fabs(number - floor(number) - 0.5) < 1e-6;
}

/* number: of so many digits. */
static struct decimal decimal_of(unsigned number, int exponent, int digits) {
    struct decimal decimal = {.significant = digits, .exponent = exponent};
    for (int i = digits; i-- > 0; number /= 10)
        decimal.digits[i] = (char)('0' + number % 10);
    while (decimal.significant > 1 && decimal.digits[decimal.significant - 1] == '0')
        decimal.significant--;
    return decimal;
}

/* By printf, which has all digits: 1.23457e-05; also of a single one, 1.e-05. */
static struct decimal round_exactly(double value, int digits) {
    char text[DECIMAL_BYTES(DECIMAL_MOST) + 3];
    snprintf(text, sizeof text, "%#.*e", digits - 1, value);
    text[1] = text[0]; /* in place of the point: 123457e-05 follows */
    return decimal_of((unsigned)strtoul(text + 1, NULL, 10), (int)strtol(text + digits + 2, NULL, 10), digits);
}

static struct decimal round_value(double value, int digits) {
    if (value < least || value > greatest)
        return round_exactly(value, digits);
    int exponent = exponent_of(value);
    double number = scaled(value, exponent, digits), full = powers[digits];
    if (number >= full)
        number = scaled(value, ++exponent, digits);
    if (is_tie(number))
        return round_exactly(value, digits);
    unsigned rounded = (unsigned)lrint(number);
    return rounded < full ? decimal_of(rounded, exponent, digits) : decimal_of(rounded / 10, exponent + 1, digits);
}

static char *decimal_append(char *out, const char *bytes, int count) {
    memcpy(out, bytes, (size_t)count);
    return out + count;
}

/* 0.000123 */
static char *write_fraction(char *out, const struct decimal *decimal) {
    out = decimal_append(out, "0.000", 1 - decimal->exponent);
    return decimal_append(out, decimal->digits, decimal->significant);
}

/* 123.45, 100.0 */
static char *write_plain(char *out, const struct decimal *decimal) {
    int whole = decimal->exponent + 1;
    out = decimal_append(out, decimal->digits, whole);
    *out++ = '.';
    if (decimal->significant <= whole)
        return decimal_append(out, "0", 1);
    return decimal_append(out, decimal->digits + whole, decimal->significant - whole);
}

/* 1.23e-5, 1e6 */
static char *write_scientific(char *out, const struct decimal *decimal) {
    *out++ = decimal->digits[0];
    if (decimal->significant > 1) {
        *out++ = '.';
        out = decimal_append(out, decimal->digits + 1, decimal->significant - 1);
    }
    *out++ = 'e';
    if (decimal->exponent < 0)
        *out++ = '-';
    int magnitude = decimal->exponent < 0 ? -decimal->exponent : decimal->exponent;
    if (magnitude >= 100)
        *out++ = (char)('0' + magnitude / 100);
    if (magnitude >= 10)
        *out++ = (char)('0' + magnitude / 10 % 10);
    *out++ = (char)('0' + magnitude % 10);
    return out;
}

char *decimal_write(char *out, double value, int digits) {
    assert(isfinite(value) && digits >= 1 && digits <= DECIMAL_MOST);
    if (signbit(value))
        *out++ = '-';
    if (value == 0)
        return decimal_append(out, "0.0", 3);
    struct decimal decimal = round_value(fabs(value), digits);
    /* the borders of printf's %g */
    if (decimal.exponent < -4 || decimal.exponent >= digits)
        return write_scientific(out, &decimal);
    return decimal.exponent < 0 ? write_fraction(out, &decimal) : write_plain(out, &decimal);
}
