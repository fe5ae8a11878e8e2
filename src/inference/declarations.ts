import { z } from 'zod'

/** Statuses of every inference operation, in addition to those of all operations. */
export const inferenceErrors = [402, 404, 408, 422, 429, 502, 503]

export const batchesUnsupported =
  'Batches are not offered by this gateway. Send each request separately; parallel requests and streams are supported.'

/** Content types of streamed replies; whole replies are JSON. */
export const streamTypes = ['text/event-stream']

const flag = z
  .string()
  .optional()
  .meta({ examples: ['true', 'false'] })

/** Headers of inference requests. Unless its description says so, an invalid value is ignored, not rejected. */
export const inferenceHeaders = z.object({
  'x-session-id': z
    .string()
    .optional()
    .describe(
      'Groups requests into a session; its turns are routed to the provider that has the prompt cached.',
    ),
  'x-service-metadata': z
    .string()
    .optional()
    .meta({ examples: ['enabled', 'disabled'] })
    .describe('Adds `service_metadata` to the response: the routing decision and every attempt.'),
  'x-service-cache': flag.describe(
    'Whether the response cache is used: a stored reply may be returned, and the reply is stored.',
  ),
  'x-service-cache-ttl': z
    .string()
    .optional()
    .describe('How long the reply is cached, in seconds: 1 to 86400.'),
  'x-service-cache-clear': flag.describe('Deletes the cached reply and requests a new one.'),
  'x-service-cache-mode': z
    .string()
    .optional()
    .meta({ examples: ['exact', 'semantic'] })
    .describe(
      'With `semantic`, the reply to a request that differs only in the last text of the user may be returned, if the texts are similar.',
    ),
  'x-service-cache-scope': z
    .string()
    .optional()
    .meta({ examples: ['key', 'workspace'] })
    .describe('Whose replies the semantic cache may return; by default those of the same key.'),
  'x-service-cache-threshold': z
    .string()
    .optional()
    .meta({ examples: ['0.97'] })
    .describe('The cosine similarity that the semantic cache requires: 0.5 to 1.'),
  'x-headgate-strict': flag.describe(
    'Rejects the request if a field would be dropped in translation to the provider.',
  ),
  'x-headgate-reasoning-formats': z
    .enum(['sdk', 'neutral'])
    .optional()
    .describe(
      'Names of the formats in `reasoning_details`: `sdk` (the default) are those of the published SDKs, such as `anthropic-claude-v1`; `neutral` names no vendor, such as `vendor_a-v1`. Requests may use both.',
    ),
  'x-headgate-tags': z
    .string()
    .optional()
    .meta({ examples: ['project=apollo, team=search'] })
    .describe('Tags of the request, separated by commas. A tag without a value has the value `true`.'),
  'x-headgate-user': z.string().optional().describe('The end user, instead of the one the body names.'),
  'x-headgate-priority': z
    .string()
    .optional()
    .meta({ examples: ['low', 'normal', 'high'] })
    .describe(
      'Which requests pass first where the rate of a provider is nearly used: `low`, `normal` or `high`, at most `max_priority` of the key. Another value is rejected.',
    ),
  'http-referer': z.string().optional().describe('The URL of your application, stored with the generation.'),
  'x-title': z.string().optional().describe('The name of your application, stored with the generation.'),
})
