import { address, destination, postJson, secret, under } from './destination.ts'

export const posthog = destination({
  type: 'posthog',
  fields: { apiKey: secret, endpoint: address.default('https://us.i.posthog.com') },
  secrets: ['apiKey'],
  address: 'endpoint',
  target: ({ endpoint }) => under(endpoint, '/i/v0/e/'),
  probe: ({ apiKey }, url) => ({
    request: postJson(
      url,
      {},
      {
        api_key: apiKey,
        event: 'headgate connection test',
        distinct_id: 'headgate',
        properties: { $process_person_profile: false },
      },
    ),
  }),
})
