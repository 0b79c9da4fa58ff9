/** Both charts as packages of Helm and as OCI artefacts; the chart of relet names the image by its digest. */
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { parse } from 'yaml';
import { OciLayout, tarOf } from './archive.mjs';
import { about, image, repository, source, version } from './names.mjs';

export const chartNames = ['relet', 'relet-crds'];

/** Annotations that Artifact Hub shows; values are YAML in a string, as it reads them. */
function annotations(name, digest) {
  const links = [
    `- {name: source, url: '${source}'}`,
    `- {name: install, url: '${source}/blob/v${version}/docs/install.md'}`,
  ];
  const images = [`- {name: relet, image: '${image}@${digest}', platforms: [linux/amd64, linux/arm64]}`];
  const kinds = ['NodeConfig', 'NodeConfigSet', 'FieldPolicy'];
  const crds = kinds.map(
    (kind) =>
      `- {kind: ${kind}, version: v1alpha1, name: ${kind.toLowerCase().replace(/y$/, 'ie')}s.relet.dev, displayName: ${kind}, description: 'docs: ${source}/tree/v${version}/docs'}`,
  );
  return {
    'artifacthub.io/license': about.license,
    'artifacthub.io/links': `${links.join('\n')}\n`,
    ...(name === 'relet'
      ? { 'artifacthub.io/images': `${images.join('\n')}\n` }
      : { 'artifacthub.io/crds': `${crds.join('\n')}\n` }),
  };
}

/** The package of a chart, as `helm package` makes it, from contents alone. */
function packageOf(name, digest) {
  const work = mkdtempSync(join(tmpdir(), 'relet-chart-'));
  try {
    const dir = join(work, name);
    cpSync(join(repository, 'deploy/helm', name), dir, { recursive: true });
    const edit = (file, change) => writeFileSync(join(dir, file), change(readFileSync(join(dir, file), 'utf8')));
    const block = ([key, value]) => `  ${key}: ${JSON.stringify(value)}\n`;
    const added = Object.entries(annotations(name, digest)).map(block).join('');
    edit('Chart.yaml', (text) => `${text}home: ${about.homepage}\nsources: [${source}]\nannotations:\n${added}`);
    if (name === 'relet') edit('values.yaml', (text) => withImage(text, digest));
    const metadata = parse(readFileSync(join(dir, 'Chart.yaml'), 'utf8'));
    return { name, metadata, bytes: gzipSync(tarOf(work, [name])) };
  } finally {
    rmSync(work, { recursive: true });
  }
}

/** Values whose image is that of the release. */
export function withImage(text, digest) {
  const changed = text
    .replace(
      /^# No image is published.*$/m,
      '# The image of this release, by its digest: a digest is used instead of the tag.',
    )
    .replace(/^( {2}repository:) relet$/m, `$1 ${image}`)
    .replace(/^( {2}digest:) ""$/m, `$1 ${digest}`);
  const { repository: name, digest: named } = parse(changed).image;
  if (name !== image || named !== digest)
    throw new Error('deploy/helm/relet/values.yaml has changed: update withImage');
  return changed;
}

/** The files of a release that are charts, by name. */
export function charts(digest) {
  const layout = new OciLayout();
  const packages = chartNames.map((name) => packageOf(name, digest));
  for (const { name, metadata, bytes } of packages) {
    const config = layout.json('application/vnd.cncf.helm.config.v1+json', metadata);
    const layers = [layout.blob('application/vnd.cncf.helm.chart.content.v1.tar+gzip', bytes)];
    const title = { 'org.opencontainers.image.title': name, 'org.opencontainers.image.version': version };
    layout.name(
      layout.manifest({ config, layers, annotations: { ...title, 'org.opencontainers.image.source': source } }),
      {
        'org.opencontainers.image.ref.name': name,
      },
    );
  }
  return [
    ...packages.map(({ name, bytes }) => [`${name}-chart-${version}.tgz`, bytes]),
    [`relet-charts-${version}.oci.tar`, layout.archive()],
  ];
}
