import { Alert, List, Stack, Text } from '@mantine/core'
import { client, type Schemas } from '../../../api/client.ts'
import { CodeBlock } from '../../../components/copy.tsx'
import { Fields } from '../../../components/fields.tsx'
import { TestDialog } from '../../../components/test-dialog.tsx'
import type { Connection } from './queries.ts'

/** Reads what the provider says about itself. */
export function ConnectionTest({ connection, onClose }: { connection: Connection; onClose: () => void }) {
  const { id, name } = connection
  const signIn = new URL(`signin/oidc/${id}`, document.baseURI).href
  return (
    <TestDialog
      title={`Test ${name}`}
      size="lg"
      intro={
        <>
          <Text size="sm">
            Reads the metadata and the keys of {connection.issuer}. Client id and secret are used by a sign-in
            only: afterwards, open this address in a private window and sign in.
          </Text>
          <CodeBlock code={signIn} label="Copy the sign-in address" />
        </>
      }
      action="Test"
      onTest={() => client.POST('/organization/sso/connections/{id}/test', { params: { path: { id } } })}
      onClose={onClose}
    >
      {(result) => <TestResult result={result} />}
    </TestDialog>
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
