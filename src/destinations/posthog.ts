import { appendPath, buildJsonPost, defineDestination, secretField, urlField } from './destination.ts'

export const posthog = defineDestination({
  type: 'posthog',
  fields: { apiKey: secretField, endpoint: urlField.default('https://us.i.posthog.com') },
  secrets: ['apiKey'],
  address: 'endpoint',
  target: ({ endpoint }) => appendPath(endpoint, '/i/v0/e/'),
  probe: ({ apiKey }, url) => ({
    request: buildJsonPost(
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
