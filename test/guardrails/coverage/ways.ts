import { chatWays } from './chat.ts'
import { cohereWays } from './cohere.ts'
import { fileWays } from './files.ts'
import { geminiWays } from './gemini.ts'
import { mediaWays } from './media.ts'
import { messagesWays } from './messages.ts'
import { ollamaWays } from './ollama.ts'
import { responsesWays } from './responses.ts'
import type { WayIn } from './way-in.ts'

/** Every way in. */
export const waysIn: WayIn[] = [
  ...chatWays,
  ...messagesWays,
  ...responsesWays,
  ...geminiWays,
  ...ollamaWays,
  ...cohereWays,
  ...mediaWays,
  ...fileWays,
]
