import { describe, expect, test } from 'bun:test'
import { ConfigError, findSettingsPath, readConfig } from './config.ts'

describe('the environment', () => {
  test('the defaults are safe: loopback, SQLite in ./data', () => {
    const config = readConfig({})
    expect(config).toMatchObject({
      host: '127.0.0.1',
      port: 8080,
      initialCredits: '100',
      managementKey: null,
    })
    expect(config.databaseUrl).toEndWith('/data/headgate.sqlite')
  })

  test.each([
    ['PORT', 'http', 'PORT must be an integer from 0 to 65535, not "http".'],
    ['PORT', '65536', 'PORT must be'],
    ['PORT', '-1', 'PORT must be'],
    ['DATABASE_URL', 'mysql://x', 'DATABASE_URL must be a URL that starts with postgres://'],
    ['REDIS_URL', 'localhost:6379', 'REDIS_URL must be a URL that starts with redis://'],
    ['HEADGATE_MANAGEMENT_KEY', '', 'HEADGATE_MANAGEMENT_KEY must have at least 12 characters.'],
    ['HEADGATE_MANAGEMENT_KEY', 'with spaces in it', 'printable ASCII'],
    ['HEADGATE_MANAGEMENT_KEY', 'headgate-management-key', 'too easy to guess'],
    ['HEADGATE_MANAGEMENT_KEY', 'changeme-changeme', 'too easy to guess'],
    ['HEADGATE_SECRET_KEY', 'Password1234567890', 'too easy to guess'],
    ['HEADGATE_SECRET_KEY', '1234567890abcdef', 'too easy to guess'],
    ['HEADGATE_SECRET_KEY', 'qwertyuiop-asdfghjkl', 'too easy to guess'],
    ['HEADGATE_SECRET_KEY', 'short', 'HEADGATE_SECRET_KEY must have at least 16 characters.'],
    ['HEADGATE_INITIAL_CREDITS', '-5', 'HEADGATE_INITIAL_CREDITS must be an amount'],
    ['HEADGATE_INITIAL_CREDITS', 'lots', 'HEADGATE_INITIAL_CREDITS must be an amount'],
    ['LOG_LEVEL', 'loud', 'LOG_LEVEL must be one of'],
  ])('S10 %s=%s fails the start with one message', (name, value, message) => {
    expect(() => readConfig({ [name]: value })).toThrow(ConfigError)
    expect(() => readConfig({ [name]: value })).toThrow(message)
  })

  test('a settings file named in HEADGATE_CONFIG must exist; the default one is optional', () => {
    expect(() => findSettingsPath({ HEADGATE_CONFIG: './no-such.yaml' })).toThrow(
      'HEADGATE_CONFIG names a file',
    )
    expect(findSettingsPath({})).toBeNull()
  })

  test('S12 the error about an invalid URL does not contain its password', () => {
    const read = () => readConfig({ DATABASE_URL: 'mysql://me:hunter2@db/x' })
    expect(read).toThrow(ConfigError)
    expect(read).not.toThrow('hunter2')
  })
})
