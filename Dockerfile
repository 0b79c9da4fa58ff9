# The image of the controller, deploy/base/controller.yaml, and of the commands of people:
#
#   docker build -t registry.example/relet:0.1.0 .     (podman and buildah build it too)
#
# Not for nodes, where relet runs on the host, and without `relet apiserver`, which is a part of the lab.

# The bases are tags, so that a build gets their security fixes. For a build that can be repeated, name a digest that you trust:
# --build-arg BASE=node:22-slim@sha256:… --build-arg BUILD_BASE=node:22-slim@sha256:…

# Builds: needs npm.
ARG BUILD_BASE=node:22-slim
# Runs: needs Node.js 20.15 or later as `node` in its PATH, and nothing else.
ARG BASE=node:22-slim

FROM ${BUILD_BASE} AS build
WORKDIR /relet
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts
COPY . .
RUN npm run build && rm -r dist/*.map dist/types dist/apiserver*.cjs dist/lab.js

FROM ${BASE}
COPY --from=build /relet/bin /opt/relet/bin
COPY --from=build /relet/dist /opt/relet/dist
COPY --from=build /relet/package.json /relet/LICENSE /opt/relet/
# Nobody, as the Deployment says too: it reads no file that is not everybody's, and writes none.
USER 65532:65532
ENTRYPOINT ["node", "/opt/relet/bin/relet.cjs"]
CMD ["controller", "--leader-elect", "--metrics-bind-address=:8080"]
