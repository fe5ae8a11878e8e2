// The bill of materials: SPDX 2.3 as JSON, from the lockfiles.
import { createHash } from 'node:crypto'
import { readComponents } from './components.mjs'

const license = 'Apache-2.0'
const documentId = 'SPDXRef-DOCUMENT'

/** The same source has the same document: its names and times are those of the source. */
export function buildSbom({ version, commit, date }) {
  const [server, console] = [readComponents(), readComponents('console')]
  const program = ownPackage('headgate', version, commit)
  const pages = ownPackage('headgate-console', version, commit)
  const components = uniqueBy([...server.components, ...console.components], idOf)
  const dependsOn = (id, targets) => targets.map((target) => relate(id, 'DEPENDS_ON', idOf(target)))
  const relationships = uniqueBy(
    [
      relate(documentId, 'DESCRIBES', program.SPDXID),
      relate(program.SPDXID, 'CONTAINS', pages.SPDXID),
      ...dependsOn(program.SPDXID, server.direct),
      ...dependsOn(pages.SPDXID, console.direct),
      ...[...server.components, ...console.components].flatMap((component) =>
        dependsOn(idOf(component), component.dependencies),
      ),
    ],
    (relation) => Object.values(relation).join(' '),
  )
  const packages = [program, pages, ...components.map(toPackage)]
  const digest = createHash('sha256')
    .update(JSON.stringify([commit, packages, relationships]))
    .digest('hex')
  return {
    spdxVersion: 'SPDX-2.3',
    dataLicense: 'CC0-1.0',
    SPDXID: documentId,
    name: `headgate-${version}`,
    documentNamespace: `urn:headgate:sbom:${version}:${digest}`,
    creationInfo: {
      created: date ?? '1970-01-01T00:00:00Z',
      creators: [`Tool: headgate-package-${version}`],
    },
    packages,
    relationships,
  }
}

function ownPackage(name, version, commit) {
  return {
    ...common(`SPDXRef-${name}`, name, version, license),
    ...(commit !== null && { sourceInfo: `Commit ${commit}` }),
    primaryPackagePurpose: 'APPLICATION',
  }
}

function toPackage(component) {
  const { name, version, integrity } = component
  return {
    ...common(idOf(component), name, version, component.license),
    checksums: [
      {
        algorithm: 'SHA512',
        checksumValue: Buffer.from(integrity.slice('sha512-'.length), 'base64').toString('hex'),
      },
    ],
    externalRefs: [
      {
        referenceCategory: 'PACKAGE-MANAGER',
        referenceType: 'purl',
        referenceLocator: `pkg:npm/${name.replace('@', '%40')}@${version}`,
      },
    ],
    primaryPackagePurpose: 'LIBRARY',
  }
}

function common(id, name, version, declared) {
  return {
    SPDXID: id,
    name,
    versionInfo: version,
    downloadLocation: 'NOASSERTION',
    filesAnalyzed: false,
    licenseConcluded: 'NOASSERTION',
    licenseDeclared: declared,
    copyrightText: 'NOASSERTION',
  }
}

/** Letters, digits, dots and dashes only. */
function idOf({ name, version }) {
  return `SPDXRef-npm-${name.replace('@', '').replaceAll(/[^\w.-]|_/g, '-')}-${version.replaceAll(/[^\w.-]/g, '-')}`
}

function relate(from, type, to) {
  return { spdxElementId: from, relationshipType: type, relatedSpdxElement: to }
}

function uniqueBy(items, keyOf) {
  return [...new Map(items.map((item) => [keyOf(item), item])).values()]
}
