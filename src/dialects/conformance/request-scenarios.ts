import type { RequestScenario } from './request-scenario.ts'
import { conversationScenarios, mediaScenarios } from './scenarios-conversation.ts'
import {
  cachingScenarios,
  metadataScenarios,
  nativeScenarios,
  outputScenarios,
  reasoningHistoryScenarios,
  reasoningScenarios,
  samplingScenarios,
} from './scenarios-settings.ts'
import { toolScenarios } from './scenarios-tools.ts'

export const reasoningHistoryGroup = 'Reasoning in the history'

/** By the headings of the documents. */
export const requestGroups: Record<string, RequestScenario[]> = {
  Conversation: conversationScenarios,
  'Images, files, sound': mediaScenarios,
  Tools: toolScenarios,
  'The answer': outputScenarios,
  Sampling: samplingScenarios,
  Reasoning: reasoningScenarios,
  [reasoningHistoryGroup]: reasoningHistoryScenarios,
  Caching: cachingScenarios,
  'Around the request': metadataScenarios,
  'What only one format has': nativeScenarios,
}

export const requestScenarios: RequestScenario[] = Object.values(requestGroups).flat()
