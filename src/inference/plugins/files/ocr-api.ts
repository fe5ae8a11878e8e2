import { z } from 'zod'
import type { FilePart, ImagePart } from '../../../formats/call/part.ts'
import type { OcrApiSettings } from '../../../gateway/file-parser-settings.ts'
import type { Gateway } from '../../../gateway/gateway.ts'
import { GatewayError } from '../../../platform/errors/gateway-error.ts'
import { EgressError, sendBuffered } from '../../../platform/http/egress-client.ts'
import { formatHostAndPort } from '../../../platform/http/egress-policy.ts'
import { encodeJsonChunks, parseLongJson } from '../../../platform/json/long-json.ts'
import { runInSlices } from '../../../platform/time/time-slicer.ts'
import { readImage } from './images.ts'
import { kindOf } from './read-document.ts'

/** Pages that the API accepts in one document. */
export const maxOcrPages = 1000
/** Images of a document that are passed on to the model. */
export const maxOcrImages = 8

const vendorUrl = 'https://api.mistral.ai'
const maxReplyBytes = 64 * 1024 * 1024
/** JSON values of a reply. */
const maxValues = 200_000

const reply = z.object({
  pages: z
    .array(
      z.object({
        index: z.int(),
        markdown: z.string(),
        images: z.array(z.object({ image_base64: z.string().nullish() })).nullish(),
      }),
    )
    .max(maxOcrPages),
  usage_info: z.object({ pages_processed: z.int().min(0).nullish() }).nullish(),
})

export interface OcrResult {
  text: string
  images: ImagePart[]
  /** That the API bills. */
  pages: number
}

interface OcrOptions {
  wantsImages: boolean
  signal: AbortSignal
}

/** Sends a document to the API. Errors are 502 and contain nothing of the reply. */
export async function recognizeWithApi(
  { settings }: Gateway,
  file: FilePart,
  { wantsImages, signal }: OcrOptions,
): Promise<OcrResult> {
  const { ocr } = settings.file_parser
  const body = await runInSlices(encodeBody(buildRequest(ocr, file, wantsImages)))
  try {
    const response = await sendBuffered(
      {
        url: `${(ocr.base_url ?? vendorUrl).replace(/\/+$/, '')}/v1/ocr`,
        method: 'POST',
        headers: {
          authorization: `Bearer ${ocr.api_key}`,
          'content-type': 'application/json',
          accept: 'application/json',
          'accept-encoding': 'identity',
        },
        body,
      },
      {
        allowPrivate: [...settings.egress.allow_private, ...listOperatorHosts(ocr)],
        timeoutMs: ocr.timeout,
        maxBytes: maxReplyBytes,
        signal,
      },
    )
    if (response.status !== 200) throw failure(describeStatus(response.status))
    const text = new TextDecoder().decode(response.bytes)
    return readReply(reply.parse(await parseLongJson(text, maxValues)), wantsImages)
  } catch (error) {
    throw error instanceof GatewayError ? error : failure(describeProblem(error))
  }
}

/** The operator entered the address, so it may be private. */
function listOperatorHosts({ base_url }: OcrApiSettings): string[] {
  return base_url === null ? [] : [formatHostAndPort(new URL(base_url))]
}

function buildRequest({ model }: OcrApiSettings, file: FilePart, wantsImages: boolean) {
  const { source } = file
  if (source.kind !== 'data') throw new Error('a document is sent as data')
  const isImage = kindOf(file) === 'image'
  const url = `data:${isImage ? source.mediaType : 'application/pdf'};base64,${source.data}`
  return {
    model,
    document: isImage ? { type: 'image_url', image_url: url } : { type: 'document_url', document_url: url },
    include_image_base64: wantsImages,
    ...(wantsImages && { image_limit: maxOcrImages }),
  }
}

function* encodeBody(body: object): Generator<void, Uint8Array> {
  const chunks: Uint8Array[] = []
  for (const chunk of encodeJsonChunks(body)) {
    chunks.push(Buffer.from(chunk))
    yield
  }
  return Buffer.concat(chunks)
}

function readReply({ pages, usage_info }: z.output<typeof reply>, wantsImages: boolean): OcrResult {
  const ordered = [...pages].sort((a, b) => a.index - b.index)
  const images = ordered
    .flatMap((page) => page.images ?? [])
    .flatMap(({ image_base64 }) => (image_base64 ? [readImage(image_base64)] : []))
    .filter((image) => image !== null)
  return {
    text: ordered.map(({ markdown }) => markdown).join('\n\n'),
    images: wantsImages ? images.slice(0, maxOcrImages) : [],
    pages: usage_info?.pages_processed ?? pages.length,
  }
}

function failure(problem: string): GatewayError {
  return new GatewayError('upstream_failed', { message: `The OCR failed: ${problem}` })
}

function describeStatus(status: number): string {
  if (status === 401 || status === 402 || status === 403) return 'the API rejected the key of this gateway.'
  if (status === 429) return 'the API limits the rate of requests. Try again later.'
  return status >= 400 && status < 500 ? 'the API rejected the document.' : 'the API failed.'
}

function describeProblem(error: unknown): string {
  if (!(error instanceof EgressError) || error.kind === 'too_large')
    return 'the reply of the API could not be read.'
  return error.kind === 'timeout' ? 'the API did not reply in time.' : 'the API could not be reached.'
}
