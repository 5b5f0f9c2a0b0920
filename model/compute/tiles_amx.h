/* Products in the tiles of AMX, which products_int8.c includes among its own.
 *
 * A panel is laid out as the tiles of its VL columns want it: one tile holds the weights of TILE_IN
 * k of a vector of columns, and one instruction multiplies it with as many values of up to
 * TILE_ROWS rows. With fewer rows than LEAST_TILE_ROWS memory is the limit, and the loops of
 * vectors read it faster. */
#ifndef ALIGND_TILES_AMX_H
#define ALIGND_TILES_AMX_H

enum { TILE_ROWS = 16, TILE_IN = 64, LEAST_TILE_ROWS = 9 };

/* Palette 1 of Intel's manual (LDTILECFG): the rows and the bytes of a row of each tile. */
struct tile_shapes {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
};

/* Blocks of rows have equal heights, since loading other shapes takes longer than rows that are
 * multiplied twice: the last block may begin within the one before. */
__attribute__((target("amx-tile,amx-int8"), noinline)) static void
multiply_by_tiles(const struct product *product, const struct rounded *x, size_t rows) {
    if (rows < LEAST_TILE_ROWS || product->in % TILE_IN != 0) {
        multiply_rounded(product, x, rows);
        return;
    }
    size_t blocks = (rows + TILE_ROWS - 1) / TILE_ROWS, height = (rows + blocks - 1) / blocks,
           ld = x->ld;
    struct tile_shapes shapes = {.palette = 1};
    for (size_t tile = 0; tile < 7; tile++) {
        shapes.row_bytes[tile] = TILE_IN;
        shapes.rows[tile] = (uint8_t)(tile < 4 ? height : TILE_ROWS);
    }
    __asm__ volatile("" ::: "memory"); /* compilers do not know that tiles are loaded from memory */
    _tile_loadconfig(&shapes);
    for (size_t panel = x->first; panel < x->end; panel++) {
        for (size_t b = 0; b < blocks; b++) {
            size_t row = b * height + height <= rows ? b * height : rows - height;
            size_t share = share_of(TILE_IN * WIDTH, b, blocks),
                   stride = share_of(TILE_IN * WIDTH, b + 1, blocks) - share;
            const char *weights = panel_at(product, panel), *q = x->q + row * ld,
                       *next = panel_at(product, panel + 1) + share * (ld / TILE_IN);
            ivec sums[TILE_ROWS][PANEL];
            _tile_zero(0);
            _tile_zero(1);
            _tile_zero(2);
            for (size_t k = 0; k < ld; k += TILE_IN, weights += TILE_IN * WIDTH, next += stride) {
                for (size_t at = 0; at < stride; at += LINE_BYTES)
                    __builtin_prefetch(next + at, 0, 2);
                _tile_loadd(3, q + k, ld);
                _tile_loadd(4, weights, WIDTH * GROUP);
                _tile_loadd(5, weights + LINE_BYTES, WIDTH * GROUP);
                _tile_loadd(6, weights + 2 * LINE_BYTES, WIDTH * GROUP);
                _tile_dpbsud(0, 3, 4);
                _tile_dpbsud(1, 3, 5);
                _tile_dpbsud(2, 3, 6);
            }
            _tile_stored(0, &sums[0][0], sizeof sums[0]);
            _tile_stored(1, &sums[0][1], sizeof sums[0]);
            _tile_stored(2, &sums[0][2], sizeof sums[0]);
            store_panel(sums, x, product, row, height, panel);
        }
    }
    _tile_release(); /* so that the kernel need not save them when the thread is interrupted */
}

#endif
