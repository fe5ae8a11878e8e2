import { stringify } from 'yaml'
import { isMasked } from '../../platform/crypto/mask.ts'
import { asObject, type JsonObject } from '../../platform/json/json-values.ts'
import { kinds } from './all.ts'
import { secretPathsOf, valueAt, withValueAt } from './fields.ts'
import type { Item, Kind } from './kind.ts'
import { defaultWorkspace, identityOf, type State } from './state.ts'

export interface ExportedFile {
  /** `guardrails.yaml` */
  name: string
  text: string
}

export interface Export {
  files: ExportedFile[]
  count: number
  /** Records that have the name of another one, of which only one can be declared. */
  skipped: string[]
}

/** Writes all records of a server as documents, without secrets. */
export function exportState(state: State, schema: string | null): Export {
  const files: ExportedFile[] = []
  const skipped: string[] = []
  let count = 0
  for (const kind of kinds) {
    const seen = new Set<string>()
    const documents = state.records(kind.kind).flatMap((item) => {
      const identity = identityOf(kind, item.name, item.workspace)
      const document = toDocument(kind, item)
      if (!document) return []
      if (seen.has(identity)) skipped.push(`${kind.kind} "${identity}"`)
      if (seen.has(identity)) return []
      seen.add(identity)
      return [stringify(document, { lineWidth: 110 })]
    })
    count += documents.length
    if (documents.length === 0) continue
    const line = schema === null ? '' : `# yaml-language-server: $schema=${schema}\n`
    const text = `${line}${documents.join('---\n')}`
    files.push({ name: `${fileNameOf(kind)}.yaml`, text })
  }
  return { files, count, skipped }
}

function fileNameOf({ kind }: Kind): string {
  const words = kind.replace(/(?!^)[A-Z]/g, (letter) => `-${letter}`).toLowerCase()
  return words.replace(/([^s])$/, '$1s').replace(/ys$/, (end) => (/[^aeo]ys$/.test(words) ? 'ies' : end))
}

function toDocument(kind: Kind, item: Item): JsonObject | null {
  const spec = omitUnset(withReferences(kind, item))
  if (kind.isPermanent && Object.keys(spec).length === 0) return null
  return {
    kind: kind.kind,
    name: item.name,
    ...(item.workspace !== null &&
      (kind.place === 'either' || item.workspace !== defaultWorkspace) && { workspace: item.workspace }),
    ...(Object.keys(spec).length > 0 && { spec }),
  }
}

/** Secrets become references to variables, which the person who applies the files has to set. */
function withReferences(kind: Kind, { spec, record, name, workspace }: Item): JsonObject {
  const masked = secretPathsOf(kind, spec).filter((path) => {
    const value = valueAt(spec, path)
    return typeof value === 'string' && isMasked(value)
  })
  const hidden = kind.hiddenSecrets?.(record) ?? []
  return [...new Set([...masked, ...hidden])].reduce((result, path) => {
    const words = [kind.kind.replace(/(?!^)[A-Z]/g, '_$&'), workspace ?? '', name, path]
    const variable = words.join('_').replace(/\W+/g, '_').replace(/_+/g, '_').toUpperCase()
    return withValueAt(result, path, `\${env:${variable}}`)
  }, spec)
}

/** A document does not say what is not set. */
function omitUnset(value: JsonObject): JsonObject {
  const entries = Object.entries(value).flatMap(([name, item]) => {
    const object = asObject(item)
    const set = object ? omitUnset(object) : item
    const isUnset =
      set === null ||
      (object ? Object.keys(set as object).length === 0 : Array.isArray(set) && set.length === 0)
    return isUnset ? [] : [[name, set] as const]
  })
  return Object.fromEntries(entries)
}
