import type { TaskWireFormat } from '../vocabulary.ts'
import { cohereRerank } from './cohere.ts'
import { voyageRerank } from './voyage.ts'
import type { RerankWireFormat } from './wire-format.ts'

/** Every wire format for reranking. */
export const rerankWireFormats: Record<TaskWireFormat<'rerank'>, RerankWireFormat> = {
  rerank: cohereRerank,
  'voyage-rerank': voyageRerank,
}
