# The image of the controller, of the agent in attached mode, and of the commands of people:
#
#   docker build -t registry.example/relet:0.1.0 .     (podman and buildah build it too)
#
# Without the lab: no `relet up` and no `relet apiserver`; test/image.test.ts reads what each bundle is made of. scripts/image.mjs builds the same image without an engine.

# The bases are tags, so that a build gets their security fixes. For a build that can be repeated, name a digest that you trust:
# --build-arg BASE=node:22-slim@sha256:… --build-arg BUILD_BASE=node:22-slim@sha256:…

# Builds: needs npm.
ARG BUILD_BASE=node:22-slim
# Runs: needs Node.js 20.15 or later as `node` in its PATH, and nothing else; with `env`, `kubectl exec … relet` works too.
ARG BASE=node:22-slim

FROM ${BUILD_BASE} AS build
WORKDIR /relet
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts
COPY . .
RUN npm run build && node scripts/image.mjs --tree /image

FROM ${BASE}
COPY --from=build /image /
# Nobody, as the controller's Deployment says too. The agent's DaemonSet names uid 0, which systemd asks for.
USER 65532:65532
ENTRYPOINT ["node", "/opt/relet/bin/relet.cjs"]
CMD ["controller", "--leader-elect", "--metrics-bind-address=:8080"]
