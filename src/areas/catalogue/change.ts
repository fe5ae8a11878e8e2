import { ceilingReached } from '../../account/ceilings.ts'
import { type Edits, editKey, layEdits } from '../../catalog/edits.ts'
import {
  byName,
  type EditName,
  type EditRow,
  listEdits,
  nextCatalogueVersion,
  removeEdit,
  saveEdit,
} from '../../catalog/store.ts'
import type { Db } from '../../db/db.ts'
import { fail } from '../../errors.ts'
import type { Gateway } from '../../gateway.ts'
import { isoNow } from '../../lib/clock.ts'
import { adoptEdits, catalogSources } from '../../reload.ts'

type Columns = Pick<EditRow, 'fields' | 'sealed_secrets'>

/** Puts an edit in the place of the one there may be, which `make` is given. */
export function putEdit(
  gateway: Gateway,
  name: EditName,
  make: (held: EditRow | undefined) => Columns,
): Promise<void> {
  return inTurn(gateway, async (tx, rows) => {
    const held = rows.find((row) => isSame(row, name))
    const most = gateway.settings.ceilings.catalogue_edits
    if (!held && rows.length >= most) throw ceilingReached('catalogue_edits', most)
    const row = { ...name, ...make(held), updated_at: isoNow(gateway.clock) }
    const after = [...rows.filter((other) => other !== held), row].sort(byName)
    const { problems } = lay(gateway, after)
    const problem = problems.get(editKey(row))
    if (problem) throw problem
    refuseBroken(rows, lay(gateway, rows).problems, problems)
    await saveEdit(tx, row)
    return after
  })
}

export function deleteEdit(gateway: Gateway, name: EditName): Promise<void> {
  return inTurn(gateway, async (tx, rows) => {
    const after = rows.filter((row) => !isSame(row, name))
    if (after.length === rows.length) throw fail('not_found', 'Nothing was changed here at run time.')
    refuseBroken(after, lay(gateway, rows).problems, lay(gateway, after).problems)
    await removeEdit(tx, name)
    return after
  })
}

/** In force here before the answer is sent; on other nodes as soon as they look. */
async function inTurn(
  gateway: Gateway,
  work: (tx: Db, rows: EditRow[]) => Promise<EditRow[]>,
): Promise<void> {
  const made = await gateway.db.transaction().execute(async (tx) => {
    const version = await nextCatalogueVersion(tx)
    return { version, rows: await work(tx, await listEdits(tx)) }
  })
  adoptEdits(gateway, made)
}

function isSame(row: EditName, name: EditName): boolean {
  return editKey(row) === editKey(name)
}

function lay(gateway: Gateway, rows: readonly EditRow[]) {
  return layEdits(catalogSources(gateway), rows, gateway.vault)
}

/** What others were built on stays: a provider that a model names, a model whose endpoint was changed. */
function refuseBroken(rows: readonly EditRow[], before: Edits['problems'], after: Edits['problems']): void {
  for (const [key, problem] of after) {
    const row = before.has(key) ? undefined : rows.find((candidate) => editKey(candidate) === key)
    if (!row) continue
    const { kind, name, tag } = row
    const what = kind === 'endpoint' ? `endpoint ${tag} of ${name}` : `${kind} ${name}`
    throw fail('conflict', `The ${what} was made at run time and needs this: ${problem.message}.`)
  }
}
