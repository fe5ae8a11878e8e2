import { findModel } from '../../../catalog/lookup.ts'
import type { ModelCall } from '../../../formats/call/call.ts'
import type { FilePart, ImagePart } from '../../../formats/call/part.ts'
import type { Gateway } from '../../../gateway/gateway.ts'
import type { TaskQuota } from '../../../platform/concurrency/fair-thread.ts'
import { gatewayError } from '../../../platform/errors/gateway-error.ts'
import type { InferenceRequest } from '../../request/inference-request.ts'
import type { AugmentContext } from '../plugin.ts'
import { maxOcrPages, recognizeWithApi } from './ocr-api.ts'
import { kindOf, unreadableError } from './read-document.ts'

export interface RecognizedFile {
  text: string
  images: ImagePart[]
  costNanos: bigint
}

/** Finds the reader of documents without text: an API or a model; null: neither. The API is in no known region. */
export function findRecognizer(
  { settings }: Gateway,
  { region }: Pick<InferenceRequest, 'region'>,
): 'api' | 'model' | null {
  const { ocr, ocr_model } = settings.file_parser
  if (ocr.api_key !== null) return region === 'global' ? 'api' : null
  return ocr_model === null ? null : 'model'
}

export function recognizeFile(
  context: AugmentContext,
  file: FilePart,
  quota: TaskQuota,
): Promise<RecognizedFile> {
  const isApi = findRecognizer(context.gateway, context.request) === 'api'
  return isApi ? payPages(context, file, quota) : callOcrModel(context, file)
}

/** The most that the API costs for a file. One that is not here yet may have as many pages as the API reads. */
export async function priceRecognition(gateway: Gateway, file: FilePart, quota: TaskQuota): Promise<bigint> {
  const { page_price } = gateway.settings.file_parser.ocr
  const pages = file.source.kind === 'url' ? maxOcrPages : await countPages(gateway, file, quota)
  return page_price * BigInt(pages)
}

async function countPages(
  { readers }: Pick<Gateway, 'readers'>,
  file: FilePart,
  quota: TaskQuota,
): Promise<number> {
  const { source } = file
  if (kindOf(file) === 'image') return 1
  const pages = source.kind === 'data' ? await readers.pdf.countPages(source.data, quota) : null
  if (pages === null) throw unreadableError(file, 'It is encrypted, damaged or too large.')
  if (pages > maxOcrPages)
    throw unreadableError(file, `It has ${pages} pages; OCR reads at most ${maxOcrPages}.`)
  return pages
}

/** Holds the price of all pages, and charges those that the API has read. */
async function payPages(context: AugmentContext, file: FilePart, quota: TaskQuota): Promise<RecognizedFile> {
  const { gateway, request, work, signal } = context
  const { page_price, model } = gateway.settings.file_parser.ocr
  const held = await countPages(gateway, file, quota)
  if (page_price > 0n) await context.reserve(page_price * BigInt(held))
  const startedAt = performance.now()
  const wantsImages = readsImages(gateway, request)
  const { text, images, pages } = await recognizeWithApi(gateway, file, { wantsImages, signal })
  const quantity = Math.min(pages, held)
  const costNanos = page_price * BigInt(quantity)
  const durationMs = Math.round(performance.now() - startedAt)
  const line = { kind: 'plugin' as const, name: 'file-parser', provider: model }
  const startedMs = startedAt - request.startedAt
  work.bill.addFee({ ...line, quantity, cost: costNanos, durationMs, startedMs })
  if (text.trim() === '' && images.length === 0) throw unreadableError(file, 'OCR found no text in it.')
  return { text, images, costNanos }
}

/** Whether all models of the request read images. */
export function readsImages({ catalog }: Gateway, { options }: InferenceRequest): boolean {
  return options.models.every((slug) => findModel(catalog, slug)?.model.input_modalities.includes('image'))
}

const instruction =
  'Transcribe the document completely, page by page, as Markdown. Keep its language. Reply with the transcript only.'

/** A request of the same key to the model for OCR, with a record and a charge of its own. */
async function callOcrModel(
  { gateway, callModel, signal }: AugmentContext,
  file: FilePart,
): Promise<RecognizedFile> {
  const model = gateway.settings.file_parser.ocr_model
  if (model === null) throw gatewayError('unavailable')
  const { source } = file
  const document = kindOf(file) === 'image' ? { kind: 'image' as const, source } : file
  const parts = [{ kind: 'text' as const, text: instruction }, document]
  const call: ModelCall = { messages: [{ role: 'user', parts }], stream: false, unknown: [] }
  const reply = await callModel({ model, call, purpose: 'file-parser', signal })
  const text = reply.parts.map((part) => (part.kind === 'text' ? part.text : '')).join('')
  if (text.trim() === '') throw unreadableError(file, 'The model for OCR found no text in it.')
  return { text, images: [], costNanos: reply.costNanos }
}
