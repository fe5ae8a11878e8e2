import type { TaskWireFormat } from '../vocabulary.ts'
import { cohereEmbeddings } from './cohere.ts'
import { geminiEmbeddings } from './gemini.ts'
import { openaiEmbeddings } from './openai.ts'
import { voyageEmbeddings } from './voyage.ts'
import type { EmbeddingsWireFormat } from './wire-format.ts'

/** Every wire format for embeddings. */
export const embeddingsWireFormats: Record<TaskWireFormat<'embeddings'>, EmbeddingsWireFormat> = {
  embeddings: openaiEmbeddings,
  'gemini-embeddings': geminiEmbeddings,
  'cohere-embeddings': cohereEmbeddings,
  'voyage-embeddings': voyageEmbeddings,
}
