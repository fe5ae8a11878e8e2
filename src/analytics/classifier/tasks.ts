/** The kinds of work that tasks are grouped by. */
export const macroCategories = {
  code: 'Code',
  data: 'Data',
  agent: 'Agents',
  general: 'General',
} as const
export type MacroCategory = keyof typeof macroCategories

/** The tasks that prompts are classified as, with their display names. */
export const taskNames = {
  'code:generation': 'Code generation',
  'code:debugging': 'Debugging',
  'code:refactoring': 'Refactoring',
  'code:review': 'Code review',
  'code:explanation': 'Code explanation',
  'code:testing': 'Test writing',
  'code:documentation': 'Code documentation',
  'code:frontend': 'User interfaces',
  'code:devops': 'Infrastructure and deployment',
  'code:sql': 'Database queries',
  'data:extraction': 'Data extraction',
  'data:classification': 'Classification',
  'data:summarization': 'Summarization',
  'data:analysis': 'Data analysis',
  'data:conversion': 'Format conversion',
  'data:synthesis': 'Synthetic data',
  'data:evaluation': 'Evaluation of outputs',
  'agent:coding': 'Coding agents',
  'agent:web_research': 'Web research',
  'agent:computer_use': 'Computer use',
  'agent:tool_use': 'Tool use',
  'agent:planning': 'Planning and orchestration',
  'agent:customer_support': 'Customer support',
  'general:chat': 'Conversation',
  'general:question_answering': 'Questions and answers',
  'general:writing': 'Writing',
  'general:editing': 'Editing and proofreading',
  'general:creative_writing': 'Creative writing',
  'general:roleplay': 'Roleplay',
  'general:translation': 'Translation',
  'general:math': 'Mathematics',
  'general:tutoring': 'Learning and teaching',
  'general:advice': 'Advice',
  'general:brainstorming': 'Brainstorming',
  'general:marketing': 'Marketing',
} as const satisfies Record<`${MacroCategory}:${string}`, string>

export type TaskTag = keyof typeof taskNames

export const taskTags = Object.keys(taskNames) as TaskTag[]

export function macroCategoryOf(tag: TaskTag): MacroCategory {
  return tag.slice(0, tag.indexOf(':')) as MacroCategory
}
