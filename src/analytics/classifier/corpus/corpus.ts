import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TopicCategory } from '../categories.ts'
import type { PromptSample } from '../prompt-sample.ts'
import type { TaskTag } from '../tasks.ts'

/** A prompt with the task and the subject that it should be classified as. */
export interface LabeledPrompt {
  sample: PromptSample
  /** `en`, `de`, `fr` or `es`. */
  language: string
  tag: TaskTag | 'other'
  category: TopicCategory | null
}

/** `dev`: the words and weights were tuned on it. `held-out`: they were not. */
export function readCorpus(part: 'dev' | 'held-out'): LabeledPrompt[] {
  const prompts: LabeledPrompt[] = []
  let [tag, category] = ['other', '-']
  for (const line of readFileSync(join(import.meta.dir, `${part}.txt`), 'utf8').split('\n')) {
    const heading = /^# (\S+) (\S+)$/.exec(line)
    if (heading) [tag, category] = [heading[1] ?? '', heading[2] ?? '']
    const prompt = /^(\w\w)(?: \{([^}]*)\})?: (?:\[\[(.*?)\]\] )?(.*)$/.exec(line)
    if (!prompt) continue
    const [, language = '', tools, system = '', text = ''] = prompt
    prompts.push({
      language,
      tag: tag as LabeledPrompt['tag'],
      category: category === '-' ? null : (category as TopicCategory),
      sample: {
        userStart: text.replaceAll('\\n', '\n'),
        userEnd: '',
        system,
        tools: tools?.split(', ') ?? [],
      },
    })
  }
  return prompts
}
