import { afterEach, beforeEach } from 'bun:test'
import {
  type Bench,
  buildSettings,
  clearGenerations,
  describeWithUpstreams,
} from '../inference/two-upstreams.ts'
import type { ReceivedRequest, UpstreamResponse } from '../support/upstream.ts'
import { setKeyGuardrail } from './support.ts'

/** A tenth of a cent for each request. */
export const moderationNanos = 1_000_000n

const moderators = { moderator: '[text]', 'picture-moderator': '[text, image]' }

/** `test/moderator` is at the second upstream, and all else at the first. */
function buildModerationSettings(first: string, second: string): string {
  const provider = `  - { slug: judge, name: Judge, base_url: "${second}", dialects: [moderations], api_key: vendor-secret }\n`
  const models = Object.entries(moderators).map(
    ([name, modalities]) =>
      `  - id: test/${name}\n    name: ${name}\n    input_modalities: ${modalities}\n    endpoints:\n` +
      `      - { provider: judge, upstream_model: ${name}, dialects: [moderations], pricing: { prompt: "0", completion: "0", request: "0.001" } }\n`,
  )
  const settings = buildSettings(first, second, 'moderation: { model: test/moderator }')
  return settings.replace('providers:\n', `providers:\n${provider}`) + models.join('')
}

export function describeModeration(name: string, tests: (bench: () => Bench) => void): void {
  describeWithUpstreams(
    name,
    (bench) => {
      beforeEach(async () => {
        bench().second.setDefault(classify)
        await clearGenerations(bench())
        await bench().server.gateway.db.deleteFrom('guardrail_hits').execute()
      })
      afterEach(() =>
        setKeyGuardrail(bench().server, {
          moderation: null,
          content_filter_builtins: null,
          allowed_models: null,
        }),
      )
      tests(bench)
    },
    buildModerationSettings,
  )
}

/** Flags `violence` and `hate` by name, and every image as `sexual`. */
function classify({ json }: ReceivedRequest): UpstreamResponse {
  const inputs = [json.input].flat()
  const isImage = inputs[0]?.type === 'image_url'
  const results = isImage
    ? [{ flagged: true, categories: { sexual: true } }]
    : inputs.map((text: string) => {
        const categories = { violence: text.includes('violence'), hate: text.includes('hate') }
        return { flagged: categories.violence || categories.hate, categories }
      })
  return { json: { id: 'modr-1', model: json.model, results } }
}

export async function listHits({ server }: Bench) {
  await server.gateway.ledger.flush()
  const rows = await server.gateway.db.selectFrom('guardrail_hits').selectAll().execute()
  return rows.map(({ rule, action, enforced, part, role, kinds, layers }) => ({
    rule,
    action,
    enforced,
    part,
    role,
    kinds: JSON.parse(kinds),
    layers: JSON.parse(layers),
  }))
}
