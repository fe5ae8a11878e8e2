import type { Endpoint, Model } from '../../catalog/model.ts'
import { simulators } from '../../catalog/providers/simulators.ts'
import type { EmbeddingsCall, EmbeddingsReply } from '../../formats/call/embeddings.ts'
import { embeddingsWireFormats } from '../../formats/embeddings/all.ts'
import { embeddingsRequest } from '../../formats/embeddings/schema.ts'
import { convertVector } from '../../formats/embeddings/vector.ts'
import type {
  DecodedEmbeddings,
  EmbeddingsWireFormat,
  InputKind,
} from '../../formats/embeddings/wire-format.ts'
import { describeBodyFields } from '../../formats/schema/body-fields.ts'
import { parseWithNumberLists } from '../../platform/json/number-lists.ts'
import { runInSlices } from '../../platform/time/time-slicer.ts'
import { unexpectedReplyError } from '../failures/errors.ts'
import { readJsonBody } from '../upstream/decode-reply.ts'
import { decodeBody } from './receive.ts'
import { simulateMedia } from './simulation.ts'
import type { FieldProblem, MediaTask } from './task.ts'

export const embeddingsTask: MediaTask<EmbeddingsCall, EmbeddingsWireFormat, EmbeddingsReply> = {
  name: 'embeddings',
  fields: describeBodyFields(embeddingsRequest.shape),
  wireFormats: embeddingsWireFormats,
  findProblem,
  receive: async (exchange, upstream, sent) => {
    const body = await readJsonBody(exchange, upstream, parseWithNumberLists)
    return convertReply(decodeBody(exchange, body, sent), sent.call)
  },
  simulate: (gateway, exchange, call, endpoint) =>
    simulateMedia(simulators.get(endpoint.provider.slug)?.embeddings, gateway, exchange, call, endpoint),
}

/** Converts the vectors to the requested encoding, and checks that there are as many as inputs. */
async function convertReply(reply: DecodedEmbeddings, call: EmbeddingsCall): Promise<EmbeddingsReply> {
  const { vectors } = reply
  const count = call.inputs.length
  if (vectors.length !== count)
    throw unexpectedReplyError(`The provider sent ${vectors.length} embeddings for ${count} inputs.`)
  return { ...reply, vectors: await runInSlices(convertVectors(reply, call)) }
}

function* convertVectors(
  { vectors }: DecodedEmbeddings,
  { encoding }: EmbeddingsCall,
): Generator<undefined, string[]> {
  const converted: string[] = []
  for (const vector of vectors) {
    const text = convertVector(vector, encoding)
    if (text === null) throw unexpectedReplyError('The provider sent an embedding that is not a vector.')
    converted.push(text)
    yield
  }
  return converted
}

const kindNames: Readonly<Record<InputKind, string>> = {
  text: 'texts',
  tokens: 'lists of tokens',
  image: 'images',
  audio: 'audio',
  video: 'videos',
  file: 'files',
}

function findProblem(call: EmbeddingsCall, { wireFormats }: Endpoint, model: Model): FieldProblem | null {
  const used = listKinds(call)
  // Known from routing: the endpoint has a format of the task.
  const [format] = wireFormats.flatMap((name) => embeddingsTask.wireFormats[name] ?? [])
  const accepted = (Object.keys(kindNames) as InputKind[]).filter(
    (kind) => format?.accepts.includes(kind) && (kind === 'tokens' || model.input_modalities.includes(kind)),
  )
  if (used.every((kind) => accepted.includes(kind))) return null
  const names = accepted.map((kind) => kindNames[kind]).join(', ')
  return { field: 'input', problem: `must consist of what ${model.id} accepts: ${names}` }
}

function listKinds({ inputs }: EmbeddingsCall): InputKind[] {
  const kinds = inputs.flatMap((input) =>
    input.kind === 'parts' ? input.parts.map(({ kind }) => kind) : [input.kind],
  )
  return [...new Set(kinds)]
}
