import { greyPixelPng } from '../../../src/catalog/providers/sandbox/media.ts'
import { audioReply, eventReply, mp3Frames } from '../../media/speech-upstreams.ts'
import { vendorReply } from '../../support/replies.ts'
import type { ReceivedRequest, UpstreamResponse } from '../../support/upstream.ts'

const free = { pricing: { prompt: '0', completion: '0' } }

/** Models of every task, `test/<dialect>`, each with the fields that its cases need. */
const models: Record<string, { fields?: object; endpoint?: object }> = {
  chat: {},
  messages: {},
  responses: {},
  gemini: {},
  embeddings: { fields: { output_modalities: ['embeddings'] } },
  'voyage-embeddings': {
    fields: { output_modalities: ['embeddings'], input_modalities: ['text', 'image'] },
  },
  rerank: { fields: { output_modalities: ['rerank'] } },
  moderations: {},
  images: {
    fields: {
      output_modalities: ['image'],
      input_modalities: ['text', 'image'],
      image: {
        supported_parameters: { input_references: { type: 'range', min: 0, max: 2 } },
        allowed_passthrough_parameters: ['style_preset'],
        supports_streaming: true,
        pricing: [{ billable: 'output_image', unit: 'image', cost_usd: '0' }],
      },
    },
  },
  speech: {
    fields: { output_modalities: ['speech'] },
    endpoint: { speech: { supports_voice_cloning: true }, prompt_unit: 'character' },
  },
  transcriptions: {
    fields: { input_modalities: ['audio'], output_modalities: ['transcription'] },
    endpoint: { prompt_unit: 'second' },
  },
  video: {
    fields: {
      output_modalities: ['video'],
      video: {
        supported_durations: [4],
        supported_frame_images: ['first_frame'],
        allowed_passthrough_parameters: ['mood'],
        pricing_skus: { per_second: '0' },
      },
    },
  },
}

/** One provider of each format, all at the same upstream. */
export function buildCoverageSettings(url: string): string {
  return JSON.stringify({
    videos: { active: 1000 },
    providers: [
      ...Object.keys(models).map((wireFormat) => ({
        slug: `one-${wireFormat}`,
        name: `one-${wireFormat}`,
        base_url: url,
        dialects: [wireFormat],
        api_key: 'vendor-secret',
      })),
      { slug: 'openai', base_url: url },
    ],
    models: Object.entries(models).map(([wireFormat, { fields, endpoint }]) => ({
      id: `test/${wireFormat}`,
      name: wireFormat,
      ...fields,
      endpoints: [{ provider: `one-${wireFormat}`, upstream_model: 'vendor-model', ...free, ...endpoint }],
    })),
  })
}

const usage = { prompt_tokens: 1, total_tokens: 1 }
const vectors = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ object: 'embedding', index, embedding: [0.5] }))
const countOf = (list: unknown) => (Array.isArray(list) ? list.length : 1)

const replies: [RegExp, (request: ReceivedRequest) => UpstreamResponse][] = [
  [/\/count_tokens$|:countTokens$|\/input_tokens$/, () => ({ json: { input_tokens: 1, totalTokens: 1 } })],
  [
    /embeddings$/,
    ({ json }) => ({ json: { object: 'list', data: vectors(countOf(json.input ?? json.inputs)), usage } }),
  ],
  [
    /\/rerank$/,
    ({ json }) => ({
      json: {
        results: json.documents.map((_: unknown, index: number) => ({ index, relevance_score: 0.5 })),
      },
    }),
  ],
  [
    /\/moderations$/,
    ({ json }) => ({
      json: {
        id: 'm',
        model: 'm',
        results: Array(
          Array.isArray(json.input) && typeof json.input[0] === 'string' ? json.input.length : 1,
        ).fill({
          flagged: false,
          categories: {},
          category_scores: {},
        }),
      },
    }),
  ],
  [/\/images\/(?:generations|edits)$/, () => ({ json: { created: 1, data: [{ b64_json: greyPixelPng }] } })],
  [
    /\/audio\/speech$/,
    ({ json }) => (json.stream_format === 'sse' ? eventReply(mp3Frames(2), {}) : audioReply(mp3Frames(2))),
  ],
  [/\/audio\/(?:transcriptions|translations)$/, () => ({ json: { text: 'a' } })],
  [
    /\/files$/,
    () => ({
      json: { id: 'file-1', object: 'file', bytes: 1, created_at: 1, filename: 'a', purpose: 'user_data' },
    }),
  ],
  [/\/videos$/, () => ({ json: { id: 'v', object: 'video', status: 'queued', progress: 0 } })],
]

/** A reply to any request. */
export function replyTo(request: ReceivedRequest): UpstreamResponse {
  const media = replies.find(([pattern]) => pattern.test(request.path))?.[1]
  if (media) return media(request)
  const wireFormat = wireFormatOf(request.path)
  const { frames, body } = vendorReply(wireFormat, 'text')
  const isStreamed = request.json?.stream === true || request.path.endsWith(':streamGenerateContent')
  return isStreamed ? { sse: frames } : { json: body }
}

function wireFormatOf(path: string) {
  if (path.endsWith('/messages')) return 'messages'
  if (path.endsWith('/responses')) return 'responses'
  return path.endsWith('/chat/completions') ? 'chat' : 'gemini'
}
