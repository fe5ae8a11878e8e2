import type { Selectable } from 'kysely'
import { z } from 'zod'
import type { GenerationTable } from '../../../platform/db/generation-table.ts'
import {
  asNumber,
  asObjects,
  asString,
  type JsonObject,
  omitUndefined,
} from '../../../platform/json/json-values.ts'

type GenerationRow = Selectable<GenerationTable>

const tiers = ['flex', 'priority'] as const

export const providerResponse = z
  .strictObject({
    id: z.string().optional().describe("The provider's id of the reply."),
    endpoint_id: z.string().optional().describe('The tag of the endpoint.'),
    model_permaslug: z.string().optional(),
    provider_name: z.string().optional(),
    status: z.int().nullable().describe('The HTTP status; null if the provider returned none.'),
    latency: z.number().optional().describe('The latency in milliseconds.'),
    is_byok: z.boolean().optional(),
    routed_service_tier: z.enum(tiers).optional(),
  })
  .meta({ id: 'ProviderResponse' })

export type ProviderResponse = z.input<typeof providerResponse>

/** `provider`: its name. */
export function countAttempts(row: GenerationRow, provider: string): number {
  const isCacheHit = row.response_cache_source_id !== null
  return isCacheHit ? 0 : buildProviderResponses(row, provider, (model) => model).length
}

/** The failed attempts, then the one that replied or was in progress at the end. */
export function buildProviderResponses(
  row: GenerationRow,
  provider: string,
  slugOf: (model: string) => string,
): ProviderResponse[] {
  const failed = listFailedAttempts(row).map((attempt) => toAttemptResponse(attempt, slugOf))
  const last = failed.at(-1)
  const isListed =
    row.status === 'failed' &&
    row.first_token_ms === null &&
    last !== undefined &&
    (last.endpoint_id === undefined ? last.provider_name === provider : last.endpoint_id === row.endpoint)
  return isListed ? failed : [...failed, toFinalResponse(row, provider, slugOf(row.model))]
}

/** The attempts without a reply. */
export function listFailedAttempts({ attempts }: Pick<GenerationRow, 'attempts'>): JsonObject[] {
  return asObjects(JSON.parse(attempts)).filter(({ in_reply }) => in_reply !== true)
}

/** Finds the attempt whose reply began and broke off. */
export function findBrokenReply({ attempts }: Pick<GenerationRow, 'attempts'>): JsonObject | undefined {
  return asObjects(JSON.parse(attempts)).find(({ in_reply }) => in_reply === true)
}

function toAttemptResponse(
  { provider, endpoint, model, ms, status }: JsonObject,
  slugOf: (model: string) => string,
): ProviderResponse {
  const id = asString(model)
  return {
    status: asNumber(status) ?? null,
    ...omitUndefined({
      provider_name: asString(provider),
      endpoint_id: asString(endpoint),
      model_permaslug: id && slugOf(id),
      latency: asNumber(ms),
    }),
  }
}

function toFinalResponse(row: GenerationRow, provider: string, permaslug: string): ProviderResponse {
  const tier = tiers.find((name) => name === row.service_tier)
  return {
    status: hasReply(row) ? 200 : null,
    provider_name: provider,
    endpoint_id: row.endpoint,
    model_permaslug: permaslug,
    is_byok: row.is_byok === 1,
    latency: row.first_token_ms ?? row.latency_ms,
    ...(row.upstream_id !== null && { id: row.upstream_id }),
    ...(tier && { routed_service_tier: tier }),
  }
}

/** The reply had started, however it ended. */
function hasReply({ status, first_token_ms, usage_source }: GenerationRow): boolean {
  return status === 'completed' || first_token_ms !== null || usage_source !== 'none'
}
