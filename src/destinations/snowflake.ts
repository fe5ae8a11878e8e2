import { destination, postJson, secret, text } from './destination.ts'

/** Over its SQL API. */
export const snowflake = destination({
  type: 'snowflake',
  fields: {
    account: text
      .max(255)
      .regex(/^[a-zA-Z0-9_]+(?:[.-][a-zA-Z0-9_]+)*$/, 'must be an account identifier such as org-account'),
    token: secret,
    database: text.default('SNOWFLAKE_LEARNING_DB'),
    schema: text.default('PUBLIC'),
    table: text.default('SERVICE_TRACES'),
    warehouse: text.default('COMPUTE_WH'),
  },
  secrets: ['token'],
  address: 'account',
  // Underscores of an account are hyphens in its host name.
  target: ({ account }) =>
    `https://${account.replaceAll('_', '-').toLowerCase()}.snowflakecomputing.com/api/v2/statements`,
  probe: ({ token, database, schema, warehouse }, url) => ({
    request: postJson(
      url,
      { authorization: `Bearer ${token}`, accept: 'application/json' },
      { statement: 'SELECT 1', timeout: 10, database, schema, warehouse },
    ),
  }),
})
