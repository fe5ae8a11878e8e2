import type { EmbeddingsCall, EmbeddingsReply } from '../../formats/call/embeddings.ts'
import type { ModerationsCall, ModerationsReply } from '../../formats/call/moderations.ts'
import type { RerankCall, RerankReply } from '../../formats/call/rerank.ts'
import { simulateEmbeddings } from './sandbox/embeddings.ts'
import { simulateImages } from './sandbox/images.ts'
import { simulateModerations } from './sandbox/moderations.ts'
import { simulateRerank } from './sandbox/rerank.ts'
import { simulate } from './sandbox/simulate.ts'
import { simulateSpeech } from './sandbox/speech.ts'
import { simulateTranscription } from './sandbox/transcriptions.ts'
import { filmmaker } from './sandbox/video.ts'
import type {
  ImageSimulator,
  MediaSimulator,
  Simulator,
  SpeechSimulator,
  TranscriptionSimulator,
  VideoSimulator,
} from './simulation.ts'

/** The simulators of a provider inside this process, by task. */
interface TaskSimulators {
  text: Simulator
  embeddings: MediaSimulator<EmbeddingsCall, EmbeddingsReply>
  rerank: MediaSimulator<RerankCall, RerankReply>
  moderations: MediaSimulator<ModerationsCall, ModerationsReply>
  images: ImageSimulator
  speech: SpeechSimulator
  transcriptions: TranscriptionSimulator
  video: VideoSimulator
}

/** Simulators by provider slug, for the providers whose `inProcess` is set. */
export const simulators: ReadonlyMap<string, TaskSimulators> = new Map([
  [
    'sandbox',
    {
      text: simulate,
      embeddings: simulateEmbeddings,
      rerank: simulateRerank,
      moderations: simulateModerations,
      images: simulateImages,
      speech: simulateSpeech,
      transcriptions: simulateTranscription,
      video: filmmaker,
    },
  ],
])
