import type { RecordKindName } from '../../identity/record-kinds.ts'
import { identityKinds, roleKind, signInKinds, workspaceKind } from './identity-kinds.ts'
import type { Kind } from './kind.ts'
import { catalogKinds, modelKinds } from './model-kinds.ts'
import { policyKinds } from './policy-kinds.ts'

/** In the order in which records are created: each names records of kinds before it. Deletions are in reverse order. */
export const kinds: readonly Kind[] = [
  workspaceKind,
  roleKind,
  ...catalogKinds,
  ...modelKinds.filter(({ kind }) => kind === 'Tier' || kind === 'ModelAlias'),
  ...identityKinds,
  ...policyKinds,
  ...modelKinds.filter(({ kind }) => kind !== 'Tier' && kind !== 'ModelAlias'),
  ...signInKinds,
]

const kindsByName = new Map(kinds.map((kind) => [kind.kind, kind]))

export function getKind(name: RecordKindName): Kind {
  const kind = kindsByName.get(name)
  if (!kind) throw new Error(`${name} has no kind`)
  return kind
}
