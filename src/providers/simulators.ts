import type { EmbeddingsCall, EmbeddingsReply } from '../call/embeddings.ts'
import type { RerankCall, RerankReply } from '../call/rerank.ts'
import { simulateEmbeddings } from './sandbox/embeddings.ts'
import { simulateImages } from './sandbox/images.ts'
import { simulateRerank } from './sandbox/rerank.ts'
import { simulate } from './sandbox/simulate.ts'
import { simulateSpeech } from './sandbox/speech.ts'
import type { ImageSimulator, MediaSimulator, Simulator, SpeechSimulator } from './simulation.ts'

/** By provider slug, for the providers whose `inProcess` is set. */
export const simulators: ReadonlyMap<string, Simulator> = new Map([['sandbox', simulate]])
export const embeddingsSimulators: ReadonlyMap<
  string,
  MediaSimulator<EmbeddingsCall, EmbeddingsReply>
> = new Map([['sandbox', simulateEmbeddings]])
export const imageSimulators: ReadonlyMap<string, ImageSimulator> = new Map([['sandbox', simulateImages]])
export const rerankSimulators: ReadonlyMap<string, MediaSimulator<RerankCall, RerankReply>> = new Map([
  ['sandbox', simulateRerank],
])

export const speechSimulators: ReadonlyMap<string, SpeechSimulator> = new Map([['sandbox', simulateSpeech]])
