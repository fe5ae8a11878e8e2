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

/** Scenarios by heading in the documentation. */
export const requestGroups: Record<string, RequestScenario[]> = {
  Conversation: conversationScenarios,
  'Images, files and audio': mediaScenarios,
  Tools: toolScenarios,
  Output: outputScenarios,
  Sampling: samplingScenarios,
  Reasoning: reasoningScenarios,
  [reasoningHistoryGroup]: reasoningHistoryScenarios,
  Caching: cachingScenarios,
  'Request metadata': metadataScenarios,
  'Format-specific features': nativeScenarios,
}

export const requestScenarios: RequestScenario[] = Object.values(requestGroups).flat()
