import type { Db } from '../../src/db/db.ts'
import type { GenerationTable } from '../../src/db/schema.ts'
import { growingHex } from '../../src/lib/ids.ts'
import type { Tenant } from './harness.ts'

/** A generation that nothing special is known about. */
export function generation(
  { organization, workspace }: Tenant,
  change: Partial<GenerationTable> & Pick<GenerationTable, 'created_at'>,
): GenerationTable {
  return {
    id: `gen-${growingHex()}`,
    organization_id: organization.id,
    workspace_id: workspace.id,
    key_id: 1,
    user_id: null,
    ended_at: change.created_at,
    requested_model: 'sandbox/echo',
    model: 'sandbox/echo',
    provider: 'sandbox',
    endpoint: 'sandbox',
    dialect: 'chat',
    upstream_dialect: 'chat',
    streamed: 0,
    status: 'completed',
    error_code: null,
    finish_reason: 'stop',
    native_finish_reason: null,
    tokens_input: 0,
    tokens_cache_read: 0,
    tokens_cache_write: 0,
    tokens_cache_write_1h: 0,
    tokens_input_audio: 0,
    tokens_input_image: 0,
    tokens_input_video: 0,
    tokens_output: 0,
    tokens_reasoning: 0,
    tokens_output_audio: 0,
    tokens_output_image: 0,
    web_searches: 0,
    usage_source: 'reported',
    cost_nanos: 0n,
    upstream_cost_nanos: 0n,
    reported_cost_nanos: null,
    is_byok: 0,
    latency_ms: 100,
    first_token_ms: null,
    attempts: '[]',
    dropped: null,
    preset_id: null,
    session_id: null,
    region: 'global',
    app_url: null,
    app_title: null,
    external_user: null,
    posting_id: null,
    hold_nanos: 0n,
    flag: null,
    api_type: 'completions',
    user_agent: null,
    request_id: null,
    upstream_id: null,
    service_tier: null,
    input_images: 0,
    tokens_cache_read_audio: 0,
    ...change,
  }
}

export async function insertGenerations(db: Db, rows: readonly GenerationTable[]): Promise<void> {
  for (let at = 0; at < rows.length; at += 200) {
    await db
      .insertInto('generations')
      .values(rows.slice(at, at + 200))
      .execute()
  }
}

/** The same numbers for the same seed. */
export function diceOf(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (state * 48_271) % 2_147_483_647
    return Math.floor((state / 2_147_483_647) * below)
  }
}
