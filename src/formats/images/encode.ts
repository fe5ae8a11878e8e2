import type { GatewayError } from '../../platform/errors/gateway-error.ts'
import type { JsonObject } from '../../platform/json/json-values.ts'
import type { GeneratedImage, ImagesReply } from '../call/images.ts'
import { countCompletionTokens, countPromptTokens, type Usage } from '../call/usage.ts'
import { encodeUsage as encodeChatUsage } from '../chat/usage.ts'
import type { MediaReplyContext } from '../media.ts'
import { formatSize } from './geometry.ts'

/** The names of the events: those of a generation, or of an edit. */
export type EventPrefix = 'image_generation' | 'image_edit'

/** The parts of the JSON. The images are base64, so that it is written around them instead of encoding them again. */
export function encodeReply({ images }: ImagesReply, context: MediaReplyContext): string[] {
  const { id, created, model, provider, metadata } = context
  const rest = {
    ...describeOutput(images),
    usage: encodeUsage(context),
    id,
    model,
    provider,
    ...(metadata && { service_metadata: metadata }),
  }
  const data = images.flatMap((image, index) => [index === 0 ? '' : ',', ...encodeImage(image)])
  return [`{"created":${created},"data":[`, ...data, `],${JSON.stringify(rest).slice(1)}`]
}

function encodeImage({ data, mediaType, revisedPrompt }: GeneratedImage): string[] {
  const rest = {
    media_type: mediaType,
    ...(revisedPrompt !== undefined && { revised_prompt: revisedPrompt }),
  }
  return ['{"b64_json":"', data, `",${JSON.stringify(rest).slice(1)}`]
}

/** Fields about all images that clients of the OpenAI format read. */
function describeOutput([first]: readonly GeneratedImage[]): JsonObject {
  if (!first) return {}
  const format = first.mediaType.replace(/^image\//, '').replace('svg+xml', 'svg')
  return { output_format: format, ...(first.size && { size: formatSize(first.size) }) }
}

/** Encodes usage under the names of this API and those of the OpenAI format. */
function encodeUsage({ usage, cost }: MediaReplyContext): JsonObject {
  return { ...encodeChatUsage(usage, cost), ...encodeOpenAiUsage(usage) }
}

function encodeOpenAiUsage(usage: Usage): JsonObject {
  const [input, output] = [countPromptTokens(usage), countCompletionTokens(usage)]
  return {
    input_tokens: input,
    output_tokens: output,
    input_tokens_details: { image_tokens: usage.inputImage, text_tokens: input - usage.inputImage },
    output_tokens_details: { image_tokens: usage.outputImage, text_tokens: output - usage.outputImage },
  }
}

export function encodePartialImage(
  prefix: EventPrefix,
  index: number,
  data: string,
  createdAt: number,
): string {
  const rest = { partial_image_index: index, created_at: createdAt }
  return encodeEvent(`${prefix}.partial_image`, data, rest)
}

/** The events that end a stream: every image, the last one with the usage of all. */
export function encodeCompleted(
  prefix: EventPrefix,
  { images }: ImagesReply,
  context: MediaReplyContext,
): string {
  const { id, created, model, provider, metadata } = context
  const last = {
    usage: encodeUsage(context),
    id,
    model,
    provider,
    ...(metadata && { service_metadata: metadata }),
  }
  const events = images.map((image, index) =>
    encodeEvent(`${prefix}.completed`, image.data, {
      created,
      created_at: created,
      media_type: image.mediaType,
      ...describeOutput([image]),
      ...(index === images.length - 1 && last),
    }),
  )
  return `${events.join('')}data: [DONE]\n\n`
}

function encodeEvent(type: string, data: string, rest: JsonObject): string {
  return `event: ${type}\ndata: {"type":"${type}","b64_json":"${data}",${JSON.stringify(rest).slice(1)}\n\n`
}

/** A stream that failed ends with this event, and with nothing that marks success. */
export function encodeStreamError(error: GatewayError): string {
  const { row, param } = error
  const message = row.status === 500 ? row.message : error.message
  const body = {
    type: 'error',
    error: {
      code: String(row.status),
      message,
      param,
      type: row.type,
      metadata: { error_type: row.errorType },
    },
  }
  return `event: error\ndata: ${JSON.stringify(body)}\n\n`
}
