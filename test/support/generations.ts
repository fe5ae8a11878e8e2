import type { Gateway } from '../../src/gateway/gateway.ts'
import { createKey } from '../../src/identity/keys.ts'
import {
  type DraftColumns,
  draftColumns,
  type GenerationRecord,
  outcomeColumns,
} from '../../src/ledger/generation.ts'
import { buildContentStatement } from '../../src/ledger/generation-contents.ts'
import { sha256 } from '../../src/platform/crypto/crypto.ts'
import { newTimeOrderedHex } from '../../src/platform/crypto/ids.ts'
import type { Db } from '../../src/platform/db/db.ts'
import { emptyGeneration, type GenerationTable } from '../../src/platform/db/generation-table.ts'
import type { JsonObject } from '../../src/platform/json/json-values.ts'
import { isoNow } from '../../src/platform/time/clock.ts'
import type { Tenant, TestServer } from './harness.ts'

type Row = GenerationTable

/** A finished request with default values. */
export const blankGeneration: Omit<
  Row,
  'id' | 'organization_id' | 'workspace_id' | 'key_id' | 'created_at' | 'ended_at'
> = {
  ...emptyGeneration,
  requested_model: 'sandbox/echo',
  model: 'sandbox/echo',
  provider: 'sandbox',
  endpoint: 'sandbox',
  dialect: 'chat',
  upstream_dialect: 'chat',
  status: 'completed',
  finish_reason: 'stop',
  native_finish_reason: 'stop',
  tokens_input: 10,
  tokens_output: 20,
  usage_source: 'reported',
  cost_nanos: 30_000n,
  upstream_cost_nanos: 30_000n,
  latency_ms: 120,
  region: 'global',
  api_type: 'completions',
}

/** A row as a settlement has it. */
/** The columns of a generation that the schema of a database has, which may be that of an earlier version. */
export async function readBlankGeneration(db: Db): Promise<typeof blankGeneration> {
  const tables = await db.introspection.getTables()
  const columns = new Set(tables.find(({ name }) => name === 'generations')?.columns.map(({ name }) => name))
  const known = Object.entries(blankGeneration).filter(([name]) => columns.has(name))
  return Object.fromEntries(known) as typeof blankGeneration
}

export function toGenerationRecord(row: Readonly<Record<string, unknown>>): GenerationRecord {
  const draft = Object.fromEntries(draftColumns.map((column) => [column, row[column]]))
  const values = outcomeColumns.map((column) => row[column])
  return {
    draft: draft as unknown as DraftColumns,
    outcome: values.map((value) => (typeof value === 'bigint' ? String(value) : value)),
  }
}

/** A record as a finished request of the tenant's inference key leaves it. Returns its id. */
export async function insertGeneration(
  { db, clock }: Gateway,
  { inferenceKey }: Pick<Tenant, 'inferenceKey'>,
  changes: Partial<Row> = {},
): Promise<string> {
  const key = await db
    .selectFrom('api_keys')
    .select(['id', 'organization_id', 'workspace_id'])
    .where('hash', '=', sha256(inferenceKey))
    .executeTakeFirstOrThrow()
  const now = isoNow(clock)
  const row: Row = {
    ...blankGeneration,
    id: `gen-${newTimeOrderedHex()}`,
    organization_id: key.organization_id,
    workspace_id: key.workspace_id,
    key_id: key.id,
    created_at: now,
    ended_at: now,
    ...changes,
  }
  await db.insertInto('generations').values(row).execute()
  const { id: generation_id, organization_id } = row
  await db.insertInto('unrolled_generations').values({ generation_id, organization_id }).execute()
  return row.id
}

export const sampleContent: JsonObject = {
  input: { messages: [{ role: 'user', content: 'Hello' }] },
  output: { completion: 'Hello yourself', reasoning: null, tool_calls: [] },
  error: null,
  truncated: false,
}

/** Inserts the prompt and reply of a generation, like a workspace with content logging. */
export async function insertContent(
  { db, vault, clock }: Gateway,
  { organization, workspace }: Pick<Tenant, 'organization' | 'workspace'>,
  generationId: string,
  { content = sampleContent, createdAt = isoNow(clock) } = {},
): Promise<void> {
  const owner = { generationId, organizationId: organization.id, workspaceId: workspace.id, createdAt }
  const { sql, values } = buildContentStatement(db, vault, owner, content)
  await db.executeQuery({ ...compilePlaceholderQuery(db), sql, parameters: values })
}

/** Converts a raw row for the query builder. */
function compilePlaceholderQuery(db: Gateway['db']) {
  return db.selectFrom('instance').selectAll().compile()
}

/** A request with a key that the member created, and its content. Returns its id. */
export async function insertMemberGeneration(
  { gateway, own }: Pick<TestServer, 'gateway' | 'own'>,
  { id: user_id }: { id: string },
  workspaceId: string,
): Promise<string> {
  const { secret: inferenceKey } = await createKey(gateway.db, gateway.clock, {
    organizationId: own.organization.id,
    workspaceId,
    kind: 'inference',
    name: 'key',
    creatorUserId: user_id,
  })
  const id = await insertGeneration(gateway, { inferenceKey }, { user_id })
  await insertContent(gateway, { ...own, workspace: { ...own.workspace, id: workspaceId } }, id)
  return id
}
