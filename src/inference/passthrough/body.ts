import type { StreamedBody, UpstreamBody } from '../../catalog/provider-auth/scheme.ts'
import type { RequestSize } from '../../formats/call/size.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import {
  bodyPaceOf,
  declaredLengthOf,
  readBodyChunks,
  readBodyText,
} from '../../platform/http/body-reader.ts'
import { tryParseJson } from '../../platform/json/json.ts'
import { asCount, asObject, type JsonObject } from '../../platform/json/json-values.ts'

/** The body of a request, and what is known of it. */
export interface ReceivedBody {
  body: UpstreamBody
  /** The value of a JSON body; null if it is another, or is not read. */
  json: JsonObject | null
  /** Whether it is sent as it arrives, unread. */
  isStreamed: boolean
  /** Its error, which the request to the provider would hide. */
  problem(): unknown
  size: RequestSize
}

/** Types whose bodies name no model, or are large: they are sent as they arrive. */
const streamedTypes =
  /^(?:multipart\/|image\/|audio\/|video\/|application\/(?:octet-stream|pdf|zip|jsonl)\b)/i

/** Reads a body that may name a model; any other one is opened. */
export async function receiveBody(
  gateway: Gateway,
  request: Request,
  mustBeWhole: boolean,
): Promise<ReceivedBody> {
  const { limits, files } = gateway.settings
  const pace = bodyPaceOf(gateway)
  if (request.method === 'GET' || !request.body) return describe(null, '')
  if (!streamedTypes.test(request.headers.get('content-type') ?? '')) {
    const text = await readBodyText(request, { maxBytes: limits.body_bytes, pace })
    return describe(text, text)
  }
  if (mustBeWhole) {
    const chunks: Uint8Array[] = []
    for await (const chunk of readBodyChunks(request, { maxBytes: limits.body_bytes, pace }))
      chunks.push(chunk)
    return describe(new Uint8Array(Buffer.concat(chunks)), '')
  }
  const maxBytes = Math.max(limits.body_bytes, files.max_bytes)
  return openBody(request, readBodyChunks(request, { maxBytes, pace }))
}

function describe(body: UpstreamBody, text: string): ReceivedBody {
  const json = asObject(tryParseJson(text)) ?? null
  return { body, json, isStreamed: false, problem: () => undefined, size: computeSize(text, json) }
}

function openBody(request: Request, chunks: AsyncGenerator<Uint8Array>): ReceivedBody {
  let problem: unknown
  const length = declaredLengthOf(request)
  const open = () =>
    new ReadableStream<Uint8Array>(
      {
        async pull(controller) {
          try {
            const { done, value } = await chunks.next()
            if (done) controller.close()
            else controller.enqueue(value)
          } catch (error) {
            problem = error
            controller.error(error)
          }
        },
        cancel: async () => {
          await chunks.return(undefined)
        },
      },
      { highWaterMark: 0 },
    )
  const body: StreamedBody = { length: Number.isNaN(length) ? null : length, open }
  return { body, json: null, isStreamed: true, problem: () => problem, size: computeSize('', null) }
}

const tokensPerRequest = 64
/** External content and earlier turns can fill the context window. */
const tokensForExternalContent = 2_000_000
const externalContent =
  /"(?:tools|url|uri|file_?uri|file_?id|file_?data|inline_?data|data|source|cachedContent|previous_response_id|conversation|prompt|mcp_servers|web_search_options)"\s*:\s*[[{"]/i

/** The most that a provider can count for a body, in whatever format it is. */
function computeSize(text: string, json: JsonObject | null): RequestSize {
  const config = asObject(json?.generationConfig) ?? asObject(json?.inferenceConfig) ?? {}
  const limit = [
    ...[json?.max_tokens, json?.max_completion_tokens, json?.max_output_tokens],
    ...[config.maxOutputTokens, config.maxTokens],
  ].find((value) => typeof value === 'number')
  return {
    promptTokens:
      tokensPerRequest +
      Buffer.byteLength(text) +
      (externalContent.test(text) ? tokensForExternalContent : 0),
    outputTokens: typeof limit === 'number' && limit > 0 ? limit : null,
    choices: Math.max(1, asCount(json?.n), asCount(json?.best_of), asCount(config.candidateCount)),
    images: 0,
    hasAudio: /"(?:input_audio|audio)/.test(text),
    hasLongCache: text.includes('"1h"'),
    webSearches: json?.tools || json?.web_search_options ? 10 : 0,
    units: [],
  }
}
