import type { GenerateWireFormat } from '../../../src/formats/vocabulary.ts'
import type { JsonObject } from '../../../src/platform/json/json-values.ts'
import { richSchema } from './request-scenario.ts'

/** Requests as clients of each format send them, including fields that only that format has. */
export const clientBodies: Record<GenerateWireFormat, Record<string, JsonObject>> = {
  chat: {
    'an agent with cached prompt, tools and signed thinking': {
      model: 'acme/large',
      stream: true,
      stream_options: { include_usage: true },
      messages: [
        {
          role: 'system',
          content: [{ type: 'text', text: 'Rules.', cache_control: { type: 'ephemeral', ttl: '1h' } }],
        },
        { role: 'user', content: 'Weather in Oslo?', name: 'kari' },
        {
          role: 'assistant',
          content: null,
          reasoning_details: [
            {
              type: 'reasoning.text',
              text: 'Use the tool.',
              signature: 'sigA+/==',
              format: 'vendor_a-v1',
              index: 0,
            },
          ],
          tool_calls: [
            {
              id: 'call_1',
              type: 'function',
              function: { name: 'get_weather', arguments: '{"city": "Oslo"}' },
            },
          ],
        },
        { role: 'tool', tool_call_id: 'call_1', content: 'snow' },
      ],
      tools: [{ type: 'function', function: { name: 'get_weather', parameters: richSchema, strict: true } }],
      tool_choice: 'auto',
      max_completion_tokens: 3000,
      reasoning: { max_tokens: 2000 },
      session_id: 's-1',
      plugins: [],
      vendor_extra: { a: 1 },
    },
    'every sampling parameter': {
      model: 'acme/large',
      messages: [{ role: 'user', content: 'Hello' }],
      max_tokens: 50,
      temperature: 0.5,
      top_k: 5,
      min_p: 0.1,
      top_a: 0.1,
      frequency_penalty: 0.1,
      presence_penalty: 0.2,
      repetition_penalty: 1.1,
      seed: 7,
      stop: 'END',
      logit_bias: { '1': 1 },
      logprobs: true,
      top_logprobs: 2,
      n: 2,
      response_format: { type: 'json_schema', json_schema: { name: 'a', schema: richSchema } },
      verbosity: 'high',
      prediction: { type: 'content', content: 'Hello' },
      service_tier: 'flex',
      user: 'u',
      metadata: { a: 'b' },
      prompt_cache_key: 'k',
    },
    'images, files and audio': {
      model: 'acme/large',
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'What are these?' },
            { type: 'image_url', image_url: { url: 'https://example.com/a.png', detail: 'low' } },
            { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } },
            { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERi0x' } },
            { type: 'input_audio', input_audio: { data: 'UklGRg==', format: 'wav' } },
            { type: 'video_url', video_url: { url: 'https://example.com/a.mp4' } },
          ],
        },
      ],
      max_tokens: 500,
    },
  },
  messages: {
    'a coding agent with thinking and cache breakpoints': {
      model: 'acme/large',
      max_tokens: 8000,
      stream: true,
      system: [{ type: 'text', text: 'You write code.', cache_control: { type: 'ephemeral' } }],
      messages: [
        { role: 'user', content: 'List the files.' },
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'Use ls.', signature: 'sigA+/==' },
            { type: 'redacted_thinking', data: 'redA+/==' },
            { type: 'text', text: 'One moment.' },
            { type: 'tool_use', id: 'toolu_1', name: 'bash', input: { command: 'ls' } },
          ],
        },
        {
          role: 'user',
          content: [
            {
              type: 'tool_result',
              tool_use_id: 'toolu_1',
              is_error: true,
              content: [
                { type: 'text', text: 'a.ts' },
                { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' } },
              ],
            },
            { type: 'text', text: 'Go on.', cache_control: { type: 'ephemeral', ttl: '1h' } },
          ],
        },
      ],
      tools: [
        {
          name: 'bash',
          description: 'Runs.',
          input_schema: richSchema,
          cache_control: { type: 'ephemeral' },
        },
        { type: 'web_search_20250305', name: 'web_search', max_uses: 2 },
      ],
      tool_choice: { type: 'auto', disable_parallel_tool_use: true },
      thinking: { type: 'enabled', budget_tokens: 2000 },
      metadata: { user_id: 'u-1' },
      service_tier: 'auto',
      context_management: { edits: [] },
    },
    'a document with citations, and sampling': {
      model: 'acme/large',
      max_tokens: 500,
      messages: [
        {
          role: 'user',
          content: [
            {
              type: 'document',
              source: { type: 'text', media_type: 'text/plain', data: 'The sky is gray.' },
              title: 'Sky',
              context: 'Notes.',
              citations: { enabled: true },
            },
            { type: 'document', source: { type: 'url', url: 'https://example.com/a.pdf' } },
            { type: 'text', text: 'Colour?' },
          ],
        },
        { role: 'assistant', content: 'The color is' },
      ],
      temperature: 0.2,
      top_k: 5,
      speed: 'fast',
      stop_sequences: ['END'],
      output_config: { format: { type: 'json_schema', schema: richSchema } },
    },
  },
  responses: {
    'an agent with native items': {
      model: 'acme/large',
      instructions: 'You write code.',
      input: [
        { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'Be brief.' }] },
        {
          type: 'message',
          role: 'user',
          content: [
            { type: 'input_text', text: 'List.' },
            { type: 'input_image', image_url: 'https://example.com/a.png', detail: 'high' },
          ],
        },
        {
          type: 'reasoning',
          id: 'rs_1',
          summary: [{ type: 'summary_text', text: 'Use ls.' }],
          encrypted_content: 'gAAA+/==',
        },
        {
          type: 'function_call',
          id: 'fc_1',
          call_id: 'call_1',
          name: 'shell',
          arguments: '{"command":["ls"]}',
        },
        {
          type: 'custom_tool_call',
          id: 'ctc_1',
          call_id: 'call_2',
          name: 'apply_patch',
          input: '*** Begin Patch',
        },
        { type: 'function_call_output', call_id: 'call_1', output: 'a.ts' },
        { type: 'custom_tool_call_output', call_id: 'call_2', output: 'ok' },
        { type: 'web_search_call', id: 'ws_1', status: 'completed' },
        {
          type: 'message',
          role: 'assistant',
          content: [{ type: 'output_text', text: 'Done.', annotations: [] }],
        },
        { type: 'message', role: 'user', content: 'Thanks.' },
      ],
      tools: [
        { type: 'function', name: 'shell', parameters: richSchema, strict: true },
        {
          type: 'custom',
          name: 'apply_patch',
          format: { type: 'grammar', syntax: 'lark', definition: 'start: "a"' },
        },
        {
          type: 'namespace',
          name: 'git',
          tools: [{ type: 'function', name: 'log', parameters: richSchema }],
        },
        { type: 'web_search' },
      ],
      tool_choice: 'auto',
      parallel_tool_calls: false,
      reasoning: { effort: 'high', summary: 'detailed' },
      include: ['reasoning.encrypted_content'],
      text: {
        verbosity: 'low',
        format: { type: 'json_schema', name: 'a', schema: richSchema, strict: true },
      },
      max_output_tokens: 3000,
      prompt_cache_key: 'k',
      store: false,
      stream: true,
      metadata: { a: 'b' },
      service_tier: 'priority',
      vendor_extra: true,
    },
    'a plain prompt': {
      model: 'acme/large',
      input: 'Hello',
      temperature: 0.5,
      top_logprobs: 2,
      service_tier: 'fast',
      user: 'u',
    },
  },
  gemini: {
    'an agent with thoughts and function calls': {
      systemInstruction: { parts: [{ text: 'Rules.' }] },
      contents: [
        { role: 'user', parts: [{ text: 'Weather in Oslo?' }] },
        {
          role: 'model',
          parts: [
            { text: 'Use the tool.', thought: true },
            {
              functionCall: { id: 'c1', name: 'get_weather', args: { city: 'Oslo' } },
              thoughtSignature: 'sigC+/==',
            },
            { functionCall: { id: 'c2', name: 'get_weather', args: { city: 'Bergen' } } },
          ],
        },
        {
          role: 'user',
          parts: [
            { functionResponse: { id: 'c1', name: 'get_weather', response: { result: 'snow' } } },
            { functionResponse: { id: 'c2', name: 'get_weather', response: { error: 'no such city' } } },
          ],
        },
      ],
      tools: [
        {
          functionDeclarations: [
            { name: 'get_weather', description: 'Weather.', parametersJsonSchema: richSchema },
          ],
        },
        { googleSearch: {} },
      ],
      toolConfig: { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['get_weather'] } },
      generationConfig: {
        maxOutputTokens: 3000,
        thinkingConfig: { includeThoughts: true, thinkingBudget: 2000 },
        mediaResolution: 'MEDIA_RESOLUTION_LOW',
      },
      safetySettings: [{ category: 'HARM_CATEGORY_HARASSMENT', threshold: 'BLOCK_NONE' }],
    },
    'media and every setting': {
      contents: [
        {
          parts: [
            { text: 'What are these?' },
            { inlineData: { mimeType: 'image/png', data: 'iVBORw0KGgo=' } },
            { inlineData: { mimeType: 'audio/wav', data: 'UklGRg==' } },
            { fileData: { mimeType: 'application/pdf', fileUri: 'https://example.com/a.pdf' } },
            { fileData: { fileUri: 'https://www.youtube.com/watch?v=abc' } },
          ],
        },
      ],
      generationConfig: {
        temperature: 0.5,
        topK: 5,
        candidateCount: 2,
        maxOutputTokens: 100,
        stopSequences: ['END'],
        seed: 3,
        presencePenalty: 0.1,
        frequencyPenalty: 0.2,
        responseLogprobs: true,
        logprobs: 2,
        responseMimeType: 'application/json',
        responseJsonSchema: richSchema,
      },
    },
  },
}
