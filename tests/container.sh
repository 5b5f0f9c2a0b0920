#!/usr/bin/env bash
# Builds the image and uses it as a user would: as the image's own unprivileged user, on a read-only root, without a capability. Asks
# for its health, a translation, a model of one's own from a volume; sends SIGTERM while requests are being decoded, which must all be
# answered; prints the image's size. Base and image are made afresh: nothing of an earlier run counts. The work is done by a Docker engine, podman or, as root, buildah: BUILDER names one, else it is the
# first that works. Fails where there is none. tests/container_buildah.sh is what stands in for an engine under buildah.
set -euo pipefail
cd "$(dirname "$0")/.."
base=debian:${SUITE:-bookworm}-slim image=alignd-test # SUITE=trixie: Debian 13
patience=900 # seconds for whatever must come in the end: how fast the machine is, is not what is tested
work=$(mktemp -d)
trap 'cleanup; rm -rf "$work"' EXIT

say() { printf '  %s\n' "$*"; }
fail() {
    printf 'FAILED: %s\n' "$*" >&2
    container_log >&2
    exit 1
}

engine_works() { "$1" info >/dev/null 2>&1; }
buildah_works() { [ "$(id -u)" = 0 ] && command -v buildah unshare nsenter setpriv ip >/dev/null; }
choose_builder() {
    engine_works docker && echo docker && return
    engine_works podman && echo podman && return
    buildah_works && echo buildah && return
    echo "No Docker engine, no podman and no buildah (as root) is here: the image was not checked." >&2
    return 1
}

# ---- of engines; container: the one that runs ----

image_build() { "$builder" build -q --pull --no-cache "$@" -t "$image" . >/dev/null; }
image_bytes() { "$builder" image inspect --format '{{.Size}}' "$1"; }
image_setting() { "$builder" image inspect --format "{{.Config.$1}}" "$image"; }
container_start() {
    container=$("$builder" run -d --read-only --cap-drop ALL --security-opt no-new-privileges -p 127.0.0.1::8080 "$@" "$image")
    url=http://$("$builder" port "$container" 8080 | head -1)
}
container_curl() { curl "$@"; }
container_exec() { "$builder" exec "$container" "$@"; }
container_stop() { "$builder" stop -t $patience "$container" >/dev/null; } # sends the image's STOPSIGNAL
container_wait() { status=$("$builder" wait "$container"); } # sets status, that of the exit
container_log() { [ -z "$container" ] || "$builder" logs "$container"; }
container_remove() { [ -z "$container" ] || "$builder" rm -f "$container" >/dev/null; }
cleanup() { container_remove; }

# ---- the checks ----

await_ready() {
    local until=$((SECONDS + patience))
    while [ $SECONDS -lt $until ]; do
        ! container_curl -sf -o "$work/ready" "$url/ready" || return 0
        sleep 0.1
    done
    fail "it does not get ready"
}

check_privileges() {
    container_exec /bin/sh -c '[ "$(id -u)" -ge 1000 ] && grep -q "CapEff:.0000000000000000" /proc/self/status' || fail "the user is privileged"
    container_exec /bin/sh -c '! touch /tmp/x /var/tmp/x /x 2>/dev/null' || fail "the root can be written"
    say "runs as user $(image_setting User), no capability, read-only root"
}

check_translation() {
    container_curl -sf "$url/translate" -d '{"text": "Where is the train station?"}' >"$work/answer"
    grep -q '"text":"Où est la gare ?"' "$work/answer" || fail "a wrong answer: $(cat "$work/answer")"
    say "$(head -c 140 "$work/answer")..."
}

# Sentences and languages' names come of ICU's data, of which the image has a part.
check_icu() {
    container_curl -sf "$url/translate" -d '{"text": "I am hungry. Where is Mr. Smith? He is here!"}' >"$work/sentences"
    [ "$(grep -o '"source_text":"[^"]*"' "$work/sentences" | tr -d '\n')" = \
        '"source_text":"I am hungry.""source_text":"Where is Mr. Smith?""source_text":"He is here!"' ] || fail "wrong sentences: $(cat "$work/sentences")"
    container_curl -sf "$url/languages" >"$work/languages"
    grep -q '"name":"French"' "$work/languages" || fail "languages without names: $(cat "$work/languages")"
    say "sentences are cut, languages have names"
}

# Every model folder of weights/, whatever their names.
check_models() {
    container_curl -sf "$url/models" >"$work/models"
    for weights in weights/*/model.safetensors; do
        model=$(basename "$(dirname "$weights")")
        grep -q "\"name\":\"$model\"" "$work/models" || fail "the image does not serve $model"
    done
    say "every model of weights/ is served"
}

check_list() { # of what is in the image
    mkdir "$work/root"
    container_exec tar -C / -c var/lib/dpkg/status usr/share/alignd usr/share/doc/alignd | tar -C "$work/root" -x
    python3 tests/check_sbom.py "$work/root/usr/share/doc/alignd/sbom.spdx.json" "$work/root" >"$work/list" || fail "sbom.spdx.json: $(cat "$work/list")"
    say "sbom.spdx.json: $(cat "$work/list")"
}

check_health() { # as HEALTHCHECK has it
    container_exec /usr/bin/alignd health || fail "alignd health says that it is not well"
    ! container_exec /usr/bin/alignd health --path /nowhere 2>/dev/null || fail "alignd health says that all is well, whatever it is asked"
    say "alignd health: exit status 0"
}

await_in_flight() { # besides the one that asks
    local until=$((SECONDS + patience))
    while [ $SECONDS -lt $until ]; do
        ! grep -qx "alignd_requests_in_flight $(($1 + 1))" <<<"$(container_curl -sf "$url/metrics")" || return 0
        [ ! -s "$work/statuses" ] || break
    done
    fail "there are never $1 requests on their way at once"
}

# SIGTERM comes while these are being decoded: four clients with 64 long texts each.
check_drain() {
    local i clients=()
    printf '{"strategy": "beam", "beam_size": 8, "text": [' >"$work/long"
    for i in $(seq 64); do
        printf '%s"The %s old man who lives in the small house by the river told me that he would like to go to the sea."' \
            "$([ "$i" = 1 ] || echo ,)" "$i" >>"$work/long"
    done
    printf ']}' >>"$work/long"
    for i in $(seq 4); do
        container_curl -s -o /dev/null -w '%{http_code}\n' "$url/translate" -d "@$work/long" >>"$work/statuses" &
        clients+=($!)
    done
    await_in_flight 4
    container_stop
    wait "${clients[@]}" || true
    [ "$(sort "$work/statuses" | uniq -c | xargs)" = "4 200" ] || fail "not all accepted requests were answered: $(xargs <"$work/statuses")"
    container_wait
    [ "$status" = 0 ] || fail "exit status $status after SIGTERM"
    say "SIGTERM: 4 of 4 requests on their way answered, exit status 0: $(container_log 2>&1 | grep -o 'stopped.*' | tail -1)"
}

check_own_models() {
    container_start -v "$PWD/weights:/models:ro" -e ALIGND_MODEL=/models/geoquery
    await_ready
    container_curl -sf -o "$work/models" "$url/models"
    grep -q '"name":"geoquery"' "$work/models" || fail "the volume's model is not there"
    container_stop
    container_wait
    [ "$status" = 0 ] || fail "exit status $status after SIGTERM"
    container_remove
    say "a model from a volume"
}

container='' url='' status=''
builder=${BUILDER:-$(choose_builder)}
if [ "$builder" = buildah ]; then
    . tests/container_buildah.sh
    sh tests/base_image.sh fresh >"$work/base"
fi
echo "image $image, built by $builder:"
image_build --build-arg BASE="$base" --build-arg VERSION="$(sed -n 's/^VERSION := //p' Makefile)" --build-arg REVISION="$(git rev-parse HEAD 2>/dev/null || true)"
[ "$(image_setting StopSignal)" = SIGTERM ] || fail "no STOPSIGNAL"
[[ $(image_setting Healthcheck) == */usr/bin/alignd* ]] || fail "no HEALTHCHECK"

container_start -e ALIGND_DEADLINE_MS=${patience}000 -e ALIGND_GRACE_MS=${patience}000
await_ready
check_privileges
check_translation
check_models
check_icu
check_list
check_health
check_drain
container_remove
check_own_models
base_bytes=$(image_bytes $base) image_total=$(image_bytes "$image")
model_bytes=$(for weights in weights/*/model.safetensors; do du -sb "${weights%/*}"; done | awk '{ bytes += $1 } END { print bytes }')
rest=$((image_total - base_bytes - model_bytes))
say "size: $((base_bytes / 1000000)) MB of the base image, $((model_bytes / 1000000)) MB of models, $((rest / 100000))00 kB of the rest"
# docker/README.md says what it is made of
bound=43000000
[ "$base" = debian:bookworm-slim ] || bound=49000000 # the libraries of Debian 13 are larger
[ "$(uname -m)" = x86_64 ] || bound=$((bound + 25000000))
[ $rest -lt $bound ] || fail "the image is too large"
