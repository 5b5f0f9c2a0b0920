# docker build -t alignd . && docker run --rm -p 8080:8080 alignd
FROM debian:bookworm-slim AS build
RUN apt-get update && apt-get install -y --no-install-recommends gcc g++ libc6-dev make pkg-config libmicrohttpd-dev libgnutls28-dev \
    libsystemd-dev libjansson-dev libopenblas-dev libsentencepiece-dev libicu-dev libxml2-dev libcld2-dev && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY Makefile ./
COPY model model
COPY server server
COPY weights weights
RUN make -j"$(nproc)" all && make install DESTDIR=/out PREFIX=/usr && strip /out/usr/bin/alignd

FROM debian:bookworm-slim
RUN apt-get update && apt-get install -y --no-install-recommends libmicrohttpd12 libgnutls30 libsystemd0 libjansson4 \
    libopenblas0-pthread libsentencepiece0 libicu72 libxml2 libcld2-0 && rm -rf /var/lib/apt/lists/* && useradd --system --no-create-home alignd
COPY --from=build /out/ /
USER alignd
EXPOSE 8080
STOPSIGNAL SIGTERM
ENV ALIGND_LISTEN=0.0.0.0:8080 ALIGND_MODEL=/usr/share/alignd/en-fr:/usr/share/alignd/fr-en:/usr/share/alignd/geoquery
ENTRYPOINT ["/usr/bin/alignd"]
