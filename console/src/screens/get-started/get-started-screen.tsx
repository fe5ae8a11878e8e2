import { Stack, Text } from '@mantine/core'
import { createLazyRoute } from '@tanstack/react-router'
import { curlOf } from '../../api/call.ts'
import { CodeBlock } from '../../components/copy.tsx'
import { Page } from '../../components/page.tsx'

export const screen = createLazyRoute('/')({ component: GetStartedScreen })

const request = {
  model: 'sandbox/echo',
  messages: [{ role: 'user', content: 'Hello' }],
}

function GetStartedScreen() {
  return (
    <Page title="Get started" description="Send a first request: the sandbox needs no provider.">
      <Stack gap="xs" maw={720}>
        <Text size="sm">Put an API key into the variable HEADGATE_KEY, then run:</Text>
        <CodeBlock code={curlOf({ method: 'POST', path: '/chat/completions', body: request })} />
      </Stack>
    </Page>
  )
}
