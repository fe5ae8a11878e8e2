import type { GenerationEvent } from '../../src/destinations/event.ts'

const startedAt = Date.UTC(2026, 0, 2, 3, 4, 5, 678)

/** A finished chat request with everything that an event can have. */
export function createEvent(changes: Partial<GenerationEvent> = {}): GenerationEvent {
  return {
    id: 'gen-1767323045-abc',
    trace: {
      traceId: '0af7651916cd43dd8448eb211c80319c',
      spanId: 'b7ad6b7169203331',
      parentSpanId: '00f067aa0ba902b7',
      traceName: 'support',
      spanName: 'answer',
      generationName: 'draft the answer',
      metadata: { team: 'blue', attempt: 2, beta: true, tags: ['a', 'b'] },
      spans: [
        {
          spanId: '1111111111111111',
          parentSpanId: 'b7ad6b7169203331',
          name: 'attempt openai',
          startedAt: startedAt + 5,
          endedAt: startedAt + 900,
          attributes: { 'http.response.status_code': 503, provider: 'openai', retried: true },
          error: 'The provider is overloaded.',
        },
      ],
    },
    startedAt,
    endedAt: startedAt + 1500,
    firstTokenAt: startedAt + 250,
    region: 'global',
    requestedModel: 'openai/gpt-5-mini',
    model: 'gpt-5-mini-2026-01-01',
    provider: 'openai',
    operation: 'chat',
    streamed: true,
    status: 'completed',
    error: null,
    finishReason: 'tool_calls',
    parameters: { temperature: 0.5, max_tokens: 100, stop: ['END'], reasoning_effort: 'low' },
    tools: { declared: 2, called: ['get_weather'] },
    usage: {
      promptTokens: 100,
      completionTokens: 40,
      reasoningTokens: 10,
      cacheReadTokens: 30,
      cacheWriteTokens: 20,
    },
    sessionId: 'session-1',
    externalUser: 'user-1',
    input: {
      messages: [
        { role: 'system', content: 'You are brief.' },
        { role: 'user', content: [{ type: 'text', text: 'How is the weather in Paris?' }] },
      ],
    },
    output: {
      completion: 'I will look.',
      reasoning: 'The user wants the weather.',
      tool_calls: [{ id: 'call_1', name: 'get_weather', arguments: '{"city":"Paris"}' }],
    },
    cost: { total: 0.0125, upstream: 0.01, isByok: false, serviceTier: 'default' },
    identity: {
      organizationId: 'org-1',
      workspaceId: 'ws-1',
      apiKeyName: 'Production',
      apiKeyHash: 'f00d',
      userId: 'member-1',
    },
    context: {
      requestId: 'req-1',
      appUrl: 'https://app.example',
      appTitle: 'App',
      userAgent: 'sdk/1.0',
      presetId: 'preset-1',
      endpoint: '/api/v1/chat/completions',
      dialect: 'chat',
      filters: [{ filter: 'email', action: 'redact', count: 1 }],
    },
    ...changes,
  }
}
