# docker build -t alignd . && docker run --rm -p 8080:8080 alignd
# docker/README.md: models of your own, a base image pinned by its digest, what else can be set.
ARG BASE=debian:bookworm-slim
# What compiles. It may be of another architecture than the image: BASE is of ARCH then, Debian's name of it.
ARG BUILDER=${BASE}

FROM ${BUILDER} AS build
ARG ARCH=
RUN apt-get update -qq && apt-get install -y -qq --no-install-recommends make icu-devtools python3
WORKDIR /src
COPY Makefile ./
COPY docker/debian/install_missing.sh docker/debian/
COPY docker/release/fetch.sh docker/release/
RUN make deps ARCH="$ARCH"
COPY docker/icu_data.sh docker/sbom.py docker/
RUN make install-icu-data ARCH="$ARCH" DESTDIR=/out
COPY model model
COPY server server
COPY weights weights
RUN make -j"$(nproc)" all ARCH="$ARCH" && make install-program install-models ARCH="$ARCH" STRIP=1 DESTDIR=/out PREFIX=/usr

FROM ${BASE} AS system
# docker/versions.sh has the packages with their versions for either Debian. Left out of them: documentation but for their licences, CLD2's second set
# of tables, most of ICU's data. OpenBLAS (36 MB) is for other processors than x86-64: with AVX2 alignd does not load it, and of the older ones only those
# with AVX would be faster with it than without.
COPY docker/versions.sh /tmp/
RUN printf 'path-%s\n' 'exclude=/usr/share/doc/*' 'include=/usr/share/doc/*/copyright' 'exclude=/usr/share/man/*' 'exclude=*/libcld2_full.so*' \
        'exclude=*/libicudata.so.*.*' >/etc/dpkg/dpkg.cfg.d/alignd \
    && packages=$(sh /tmp/versions.sh) && apt-get update -qq \
    && apt-get install -y -qq --no-install-recommends $packages ca-certificates \
    && rm /tmp/versions.sh \
    && apt-get clean \
    && rm -rf /usr/lib/*/openblas-serial/liblapack.so.3 /var/lib/apt/lists/* /var/cache/ldconfig /var/log/*
# `docker run -v models:/models alignd get en-fr` downloads to where alignd looks for downloaded models
RUN mkdir -p /models /var/lib/alignd && ln -s /models /var/lib/alignd/models && chown 65532:65532 /models

# What is in the image, as SPDX
FROM build AS list
ARG ARCH=
ARG SOURCE_DATE_EPOCH=0
COPY --from=system /var/lib/dpkg/status /system/var/lib/dpkg/status
COPY --from=system /usr/share/doc /system/usr/share/doc
RUN mkdir -p /out/usr/share/doc/alignd \
    && cp -r /out/usr/share/alignd /system/usr/share/ \
    && python3 docker/sbom.py /system "$(sed -n 's/^VERSION := //p' Makefile)" "${ARCH:-$(dpkg --print-architecture)}" >/out/usr/share/doc/alignd/sbom.spdx.json

FROM system
COPY --from=build /out/usr/lib /usr/lib
COPY --from=list /out/usr/share /usr/share
COPY --from=build /out/usr/bin /usr/bin

ARG VERSION=
ARG REVISION=
LABEL org.opencontainers.image.title="alignd" \
      org.opencontainers.image.description="A translation server that shows its attention" \
      org.opencontainers.image.licenses="MIT" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
# nobody in particular: it needs no name, no home and no file of its own
USER 65532:65532
EXPOSE 8080 8081
# 8081: health checks and metrics, out of the way of whoever takes every place on 8080
ENV ALIGND_LISTEN=0.0.0.0:8080 \
    ALIGND_ADMIN_LISTEN=0.0.0.0:8081
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=6s --start-period=30s --retries=3 CMD ["/usr/bin/alignd", "health"]
ENTRYPOINT ["/usr/bin/alignd"]
