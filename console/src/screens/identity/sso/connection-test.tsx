import { Alert, Button, Group, List, Modal, Stack, Text } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { client, type Schemas } from '../../../api/client.ts'
import { CodeBlock } from '../../../components/copy.tsx'
import { ErrorNotice } from '../../../components/error-notice.tsx'
import { Fields } from '../../../components/fields.tsx'
import type { Connection } from './queries.ts'

/** Reads what the provider says about itself. */
export function ConnectionTest({ connection, onClose }: { connection: Connection; onClose: () => void }) {
  const { id, name } = connection
  const test = useMutation({
    mutationFn: () => client.POST('/organization/sso/connections/{id}/test', { params: { path: { id } } }),
  })
  const result = test.data?.data?.data
  const signIn = new URL(`signin/oidc/${id}`, document.baseURI).href
  return (
    <Modal
      opened
      onClose={onClose}
      title={`Test ${name}`}
      size="lg"
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      <Stack>
        <Text size="sm">
          Reads the metadata and the keys of {connection.issuer}. Client id and secret are used by a sign-in
          only: afterwards, open this address in a private window and sign in.
        </Text>
        <CodeBlock code={signIn} label="Copy the sign-in address" />
        {test.error !== null && <ErrorNotice error={test.error} />}
        {result && <TestResult result={result} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            Close
          </Button>
          <Button loading={test.isPending} onClick={() => test.mutate()}>
            Test
          </Button>
        </Group>
      </Stack>
    </Modal>
  )
}

function TestResult({ result }: { result: Schemas['SsoConnectionTest'] }) {
  const metadata = Object.entries(result.metadata ?? {})
  return (
    <div role="status">
      <Alert
        color={result.ok ? 'teal' : 'red'}
        title={result.ok ? 'Nothing is wrong' : 'This prevents people from signing in'}
      >
        {result.ok ? (
          'The provider can be read, and a domain is verified.'
        ) : (
          <List size="sm">
            {result.problems.map((problem) => (
              <List.Item key={problem} style={{ overflowWrap: 'anywhere' }}>
                {problem}
              </List.Item>
            ))}
          </List>
        )}
      </Alert>
      <Stack gap="xs" pt="sm">
        <Fields
          fields={[
            ['redirect_uri', result.redirect_uri],
            ['backchannel_logout_uri', result.backchannel_logout_uri],
            ...metadata.map(([name, value]): [string, string] => [name, value ?? 'not named']),
          ]}
        />
      </Stack>
    </div>
  )
}
