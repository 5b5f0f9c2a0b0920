/* The origin of a model that was downloaded: source, version, licence. */
#ifndef ALIGND_IMPORT_ORIGIN_H
#define ALIGND_IMPORT_ORIGIN_H

/* Where a model was downloaded: it is written into the card, and into origin.json, by which it can be recognised and renewed. */
struct import_origin {
    const char *from;    /* the source: mozilla, opus, hf, argos or url */
    const char *asked;   /* that names it to `alignd get`: mozilla:en-fr */
    const char *version; /* "": not known, as the others */
    const char *url;     /* of its largest file */
    const char *licence, *attribution;
};

#endif
