import type { RequestStory } from './request-story.ts'
import { caching, output, own, reasoning, sampling, surroundings, thoughts } from './stories-settings.ts'
import { conversation, media } from './stories-talk.ts'
import { tools } from './stories-tools.ts'

export const thoughtsGroup = 'Reasoning in the history'

/** By the headings of the documents. */
export const requestGroups: Record<string, RequestStory[]> = {
  Conversation: conversation,
  'Images, files, sound': media,
  Tools: tools,
  'The answer': output,
  Sampling: sampling,
  Reasoning: reasoning,
  [thoughtsGroup]: thoughts,
  Caching: caching,
  'Around the request': surroundings,
  'What only one format has': own,
}

export const requestStories: RequestStory[] = Object.values(requestGroups).flat()
