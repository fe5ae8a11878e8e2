interface Package {
  SPDXID: string
  name: string
  versionInfo: string
  licenseDeclared: string
  checksums?: { algorithm: string; checksumValue: string }[]
}

interface Relationship {
  spdxElementId: string
  relationshipType: string
  relatedSpdxElement: string
}

export function buildSbom(source: { version: string; commit: string | null; date: string | null }): {
  documentNamespace: string
  creationInfo: { created: string }
  packages: Package[]
  relationships: Relationship[]
}
