/**
 * Bills of materials of what really is in an installation. relet bundles its packages, so a list of dependencies would be wrong both
 * ways: the build writes which packages went into each bundle (dist/bundles.json, from the bundler's metafile), and these functions
 * list the bundles that are there, with their hashes, the packages inside each, and what is beside them (Node.js, libraries).
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { sha256 } from './archive.mjs';

/** Bundles below a root, each with the packages inside it, and each package once. */
export function contentsOf(root) {
  const { bundles, packages } = JSON.parse(readFileSync(join(root, 'dist/bundles.json'), 'utf8'));
  const files = Object.entries(bundles)
    .filter(([name]) => existsSync(join(root, 'dist', name)))
    .map(([name, inside]) => {
      const path = `dist/${name}`;
      return { path, sha256: sha256(readFileSync(join(root, path))), packages: inside };
    });
  const used = [...new Set(files.flatMap((file) => file.packages))].sort();
  return { files, packages: used.map((id) => ({ id, ...packages[id] })) };
}

const purlOf = ({ name, version }) => `pkg:npm/${name.replace('@', '%40')}@${version}`;

/** `beside`: components with name, version, license, purl and, where known, sha256. */
export function cycloneDx({ name, version, license }, { files, packages }, beside = []) {
  const ref = (id) => `npm:${id}`;
  const hashes = (hex) => (hex === undefined ? {} : { hashes: [{ alg: 'SHA-256', content: hex }] });
  const licenses = (expression) => (expression === undefined ? {} : { licenses: [{ expression }] });
  return {
    $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: {
      component: {
        type: 'application',
        'bom-ref': 'relet',
        name,
        version,
        purl: `pkg:npm/relet@${version}`,
        ...licenses(license),
      },
    },
    components: [
      ...files.map((file) => ({ type: 'file', 'bom-ref': file.path, name: file.path, ...hashes(file.sha256) })),
      ...packages.map((one) => ({
        type: 'library',
        'bom-ref': ref(one.id),
        name: one.name,
        version: one.version,
        purl: purlOf(one),
        ...licenses(one.license),
      })),
      ...beside.map((one) => ({
        type: one.type ?? 'library',
        'bom-ref': one.purl,
        name: one.name,
        version: one.version,
        purl: one.purl,
        ...licenses(one.license),
        ...hashes(one.sha256),
      })),
    ],
    dependencies: [
      { ref: 'relet', dependsOn: [...files.map(({ path }) => path), ...beside.map(({ purl }) => purl)] },
      ...files.map((file) => ({ ref: file.path, dependsOn: file.packages.map(ref) })),
    ],
  };
}

export function spdx({ name, version, license }, { files, packages }, { beside = [], created, source }) {
  const id = (kind, text) => `SPDXRef-${kind}-${text.replaceAll(/[^A-Za-z0-9.-]+/g, '-')}`;
  const sum = (hex) => (hex === undefined ? {} : { checksums: [{ algorithm: 'SHA256', checksumValue: hex }] });
  const parts = [
    ...packages.map((one) => ({ ...one, ref: id('npm', one.id), purl: purlOf(one) })),
    ...beside.map((one) => ({ ...one, ref: id('beside', one.purl) })),
  ];
  const relate = (from, relationshipType, to) => ({ spdxElementId: from, relationshipType, relatedSpdxElement: to });
  const body = {
    packages: [
      {
        SPDXID: 'SPDXRef-relet',
        name,
        versionInfo: version,
        downloadLocation: source,
        filesAnalyzed: false,
        licenseConcluded: license,
        licenseDeclared: license,
        copyrightText: 'NOASSERTION',
      },
      ...parts.map((one) => ({
        SPDXID: one.ref,
        name: one.name,
        versionInfo: one.version,
        downloadLocation: 'NOASSERTION',
        filesAnalyzed: false,
        licenseConcluded: one.license ?? 'NOASSERTION',
        licenseDeclared: one.license ?? 'NOASSERTION',
        copyrightText: 'NOASSERTION',
        externalRefs: [{ referenceCategory: 'PACKAGE-MANAGER', referenceType: 'purl', referenceLocator: one.purl }],
        ...sum(one.sha256),
      })),
    ],
    files: files.map((file) => ({
      SPDXID: id('file', file.path),
      fileName: `./${file.path}`,
      ...sum(file.sha256),
      licenseConcluded: 'NOASSERTION',
      copyrightText: 'NOASSERTION',
    })),
    relationships: [
      relate('SPDXRef-DOCUMENT', 'DESCRIBES', 'SPDXRef-relet'),
      ...files.map((file) => relate('SPDXRef-relet', 'CONTAINS', id('file', file.path))),
      ...files.flatMap((file) => file.packages.map((one) => relate(id('file', file.path), 'CONTAINS', id('npm', one)))),
      ...beside.map((one) => relate('SPDXRef-relet', 'CONTAINS', id('beside', one.purl))),
    ],
  };
  return {
    spdxVersion: 'SPDX-2.3',
    dataLicense: 'CC0-1.0',
    SPDXID: 'SPDXRef-DOCUMENT',
    name: `${name}-${version}`,
    documentNamespace: `${source}/spdx/${sha256(JSON.stringify(body))}`,
    creationInfo: { created, creators: ['Tool: relet-release'] },
    ...body,
  };
}

/** The bill that an installation carries, which `relet version --sbom` prints. */
export function writeSbom(root, { beside = [] } = {}) {
  const about = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const bill = cycloneDx(about, contentsOf(root), beside);
  writeFileSync(join(root, 'dist/sbom.cdx.json'), `${JSON.stringify(bill)}\n`);
}
