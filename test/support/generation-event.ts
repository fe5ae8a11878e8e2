import type { GenerationEvent } from '../../src/delivery/destinations/event.ts'

export const eventTime = Date.parse('2026-11-16T10:00:00.250Z')

/** An event with a value in every field. */
export function newGenerationEvent(changes: Partial<GenerationEvent> = {}): GenerationEvent {
  return {
    id: 'gen_1',
    trace: {
      traceId: '0af7651916cd43dd8448eb211c80319c',
      spanId: 'b7ad6b7169203331',
      parentSpanId: '00f067aa0ba902b7',
      traceName: 'checkout',
      spanName: 'answer',
      generationName: 'draft',
      metadata: { team: 'blue', $set: { email: 'a@example.com' } },
      spans: [
        {
          spanId: '1111111111111111',
          parentSpanId: 'b7ad6b7169203331',
          name: 'route',
          startedAt: eventTime + 1,
          endedAt: eventTime + 3,
          attributes: { candidates: 2 },
          error: null,
        },
        {
          spanId: '2222222222222222',
          parentSpanId: 'b7ad6b7169203331',
          name: 'attempt openai',
          startedAt: eventTime + 3,
          endedAt: eventTime + 900,
          attributes: { provider: 'openai', status: 503 },
          error: 'overloaded',
        },
      ],
    },
    startedAt: eventTime,
    endedAt: eventTime + 1500,
    firstTokenAt: eventTime + 400,
    region: 'global',
    requestedModel: 'openai/gpt-5-mini:floor',
    model: 'openai/gpt-5-mini',
    provider: 'openai',
    operation: 'chat',
    streamed: true,
    status: 'completed',
    error: null,
    finishReason: 'stop',
    parameters: { temperature: 0.5, max_tokens: 100, stop: ['END'] },
    tools: { declared: 1, called: ['weather'] },
    usage: {
      promptTokens: 120,
      completionTokens: 30,
      reasoningTokens: 10,
      cacheReadTokens: 50,
      cacheWriteTokens: 20,
    },
    sessionId: 'session-1',
    externalUser: 'user-1',
    input: {
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: [{ type: 'text', text: "How's the weather in 'Rome'; DROP TABLE x; --?" }] },
      ],
    },
    output: {
      completion: 'Sunny ☀️',
      reasoning: 'Look it up.',
      tool_calls: [{ id: 'call_1', name: 'weather', arguments: '{"city":"Rome"}' }],
    },
    cost: { total: 0.00000015, upstream: 0.00000012, isByok: false, serviceTier: 'flex' },
    identity: {
      organizationId: 'org_1',
      workspaceId: 'ws_1',
      apiKeyName: 'Key of Ann / prod',
      apiKeyHash: 'abc',
      userId: 'member_1',
    },
    context: {
      requestId: 'req_1',
      appUrl: 'https://app.example.com',
      appTitle: 'App',
      userAgent: 'curl/8',
      presetId: null,
      endpoint: 'openai/gpt-5-mini@openai',
      dialect: 'chat',
      filters: [{ id: 'email', action: 'redact' }],
    },
    ...changes,
  }
}

/** An event for a destination that gets neither content nor cost, identity and context. */
export function newPrivateEvent(changes: Partial<GenerationEvent> = {}): GenerationEvent {
  const event = newGenerationEvent()
  return {
    ...event,
    trace: { ...event.trace, parentSpanId: null, traceName: null, spanName: null, generationName: null },
    firstTokenAt: null,
    sessionId: null,
    externalUser: null,
    input: null,
    output: null,
    cost: null,
    identity: null,
    context: null,
    ...changes,
  }
}
