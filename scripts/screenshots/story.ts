/** An organization that exists only in the pictures. */
export const workspaces = [
  { name: 'Support assistant', slug: 'support' },
  { name: 'Research', slug: 'research' },
]

export const people = [
  { email: 'tomas@example.com', first_name: 'Tomás', last_name: 'Ferreira' },
  { email: 'ines@example.com', first_name: 'Ines', last_name: 'Okafor' },
  { email: 'jun@example.com', first_name: 'Jun', last_name: 'Watanabe' },
]

interface Application {
  /** Name of its key. */
  name: string
  title: string
  model: string
  models?: readonly string[]
  limit?: number
  reset?: 'daily' | 'weekly' | 'monthly'
}

/** The last one sends only a request that its limit refuses. */
export const applications: readonly Application[] = [
  { name: 'checkout-service', title: 'Checkout', model: 'openai/gpt-5.4-mini', limit: 10, reset: 'monthly' },
  {
    name: 'support-bot',
    title: 'Support assistant',
    model: 'anthropic/claude-sonnet-5.5',
    models: ['openai/gpt-5.5'],
    limit: 20,
    reset: 'monthly',
  },
  { name: 'nightly-evaluations', title: 'Evaluations', model: 'deepseek/deepseek-v4-pro' },
  { name: 'code-review', title: 'Code review', model: 'openai/gpt-5.5', limit: 15, reset: 'weekly' },
  { name: 'trial-for-partners', title: 'Partner trial', model: 'openai/gpt-5.5', limit: 0.5, reset: 'daily' },
]

export const prompts = [
  'Where is my order? It should have been here on Tuesday.',
  'Summarize the three reviews below in one sentence for the product page.',
  'Is this address complete for a delivery to Norway?',
  'Write a friendly reply to a customer whose parcel is late.',
  'Which of these changes could break a client of the API?',
]

/** Added to prompts, many times. */
export const context = '\nNote of the carrier: the parcel was sorted in Malmö and is on its way.'

export const answer = 'Your parcel left the warehouse this morning and arrives on Thursday.'

/** Replies of two models to the first prompts, of which the person likes one each. */
export const comparison = {
  name: 'Replies about late parcels',
  models: ['anthropic/claude-sonnet-5.5', 'openai/gpt-5.5'],
  prompts: prompts.slice(0, 3),
  replies: [
    [
      'I am sorry about the delay. Your parcel left our warehouse on **Monday** and is on its way. You can follow it with the link in your confirmation.',
      'Your order was sent on Monday. It should arrive soon.',
    ],
    [
      'Customers praise the fit and the fabric, and find the delivery slow.',
      'Reviewers like how it fits and feels; two of three mention a late delivery.',
    ],
    [
      'The postal code is missing. Norway uses four digits, such as `0150`.',
      'Almost: add the postal code (four digits) before the city.',
    ],
  ],
  votes: [0, 1, 0],
}

/** Two versions of it, oldest first. */
export const preset = {
  slug: 'support-reply',
  versions: [
    {
      model: 'anthropic/claude-sonnet-5.5',
      system: 'You answer customers of a shop.\nBe polite.\nNever promise a date.',
      temperature: 0.7,
    },
    {
      model: 'anthropic/claude-sonnet-5.5',
      models: ['openai/gpt-5.5'],
      system:
        'You answer customers of a shop.\nBe polite and brief: three sentences at most.\nNever promise a date.',
      temperature: 0.3,
    },
  ],
}

const [lateParcel = '', review = ''] = prompts

export const routedRequests = [
  {
    name: 'Late parcel',
    model: 'anthropic/claude-sonnet-5.5',
    models: ['openai/gpt-5.5'],
    prompt: lateParcel,
  },
  { name: 'Summary of reviews', model: 'openai/gpt-5.4-mini', prompt: review },
].map(({ name, prompt, ...models }) => ({
  id: name,
  name,
  format: 'chat',
  body: { ...models, max_tokens: 1_000, messages: [{ role: 'user', content: prompt }] },
}))
