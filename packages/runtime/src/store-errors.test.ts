import { describe, expect, test } from '@jest/globals';
import { isAway, sqlStates, type Trouble, troubleOf } from './store-errors.ts';

const ofDatabase = (code: string) => Object.assign(new Error('refused'), { code, severity: 'ERROR' });
const reply = (message: string, more = {}) => Object.assign(new Error(message), { name: 'ReplyError', ...more });
const readOnly = "READONLY You can't write against a read only replica.";
const prisma = (more: object) => Object.assign(new Error(), { name: 'PrismaClientKnownRequestError', ...more });
const said = (originalCode: string) => ({ driverAdapterError: new Error('postgres', { cause: { originalCode } }) });

describe('troubleOf', () => {
  test.each(sqlStates)('%s… is %s: %s', (begins, trouble) => {
    expect(troubleOf(ofDatabase(begins.padEnd(5, '0')))).toBe(trouble);
    expect(troubleOf(new Error('could not', { cause: ofDatabase(begins.padEnd(5, '1')) }))).toBe(trouble);
  });

  test.each<[code: string, means: string, trouble: Trouble]>([
    ['57P01', 'admin_shutdown', 'away'],
    ['57P02', 'crash_shutdown', 'away'],
    ['57P03', 'cannot_connect_now', 'away'],
    ['57014', 'query_canceled', 'away'],
    ['53100', 'disk_full', 'away'],
    ['53300', 'too_many_connections', 'away'],
    ['21000', 'cardinality_violation', 'values'],
    ['22P05', 'untranslatable_character', 'values'],
    ['23505', 'unique_violation', 'values'],
    ['25001', 'active_sql_transaction', 'other'],
    ['25P02', 'in_failed_sql_transaction', 'other'],
    ['40002', 'transaction_integrity_constraint_violation', 'other'],
    ['42P01', 'undefined_table', 'other'],
    ['42501', 'insufficient_privilege', 'other'],
    ['54000', 'program_limit_exceeded', 'other'],
    ['55000', 'object_not_in_prerequisite_state', 'other'],
    ['57000', 'operator_intervention', 'other'],
    ['58030', 'io_error', 'other'],
    ['P0001', 'raise_exception', 'other'],
    ['XX000', 'internal_error', 'other'],
  ])('%s (%s) is %s', (code, _means, trouble) => expect(troubleOf(ofDatabase(code))).toBe(trouble));

  test.each<[what: string, error: unknown, trouble: Trouble]>([
    ['a refused connection', Object.assign(new Error(), { code: 'ECONNREFUSED', syscall: 'connect' }), 'away'],
    ['all addresses refused', new AggregateError([Object.assign(new Error(), { code: 'ECONNREFUSED' })]), 'away'],
    ['a name that is not known', Object.assign(new Error(), { code: 'EAI_AGAIN', syscall: 'getaddrinfo' }), 'away'],
    ['a broken pipe', Object.assign(new Error(), { code: 'EPIPE', syscall: 'write' }), 'away'],
    ['an expired certificate', Object.assign(new Error(), { code: 'CERT_HAS_EXPIRED' }), 'away'],
    ['the driver’s own', new Error('Connection terminated unexpectedly'), 'away'],
    ['no answer', new Error('Query read timeout'), 'away'],
    ['a broker that takes the connection and says nothing', new Error('connect ETIMEDOUT'), 'away'],
    ['a port of ours that is taken', Object.assign(new Error(), { code: 'EADDRINUSE', syscall: 'listen' }), 'other'],
    ['a file that is not there', Object.assign(new Error(), { code: 'ENOENT', syscall: 'open', path: '/x' }), 'other'],
    ['what says so itself', Object.assign(new Error(), { trouble: 'away' }), 'away'],
    ['a mistake of ours', new TypeError('undefined is not a function'), 'other'],
    ['no error at all', undefined, 'other'],
    ['a text', 'away', 'other'],
  ])('%s', (_what, error, trouble) => expect(troubleOf(error)).toBe(trouble));

  test.each<[error: unknown, isAway: boolean]>([
    [reply(readOnly), true],
    [reply(`ERR Error running script (call to f_1): @user_script:2: @user_script: 2: -${readOnly} `), true],
    [reply('LOADING Redis is loading the dataset in memory'), true],
    [reply("MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'."), true],
    [reply('CLUSTERDOWN The cluster is down'), true],
    [reply("OOM command not allowed when used memory > 'maxmemory'."), true],
    [reply('MISCONF Redis is configured to save RDB snapshots, but ...'), true],
    [reply('NOREPLICAS Not enough good replicas to write.'), true],
    [reply('EXECABORT Transaction discarded because of previous errors.', { previousErrors: [reply(readOnly)] }), true],
    [
      reply('EXECABORT Transaction discarded because of previous errors.', { previousErrors: [reply('ERR syntax')] }),
      false,
    ],
    [reply('WRONGTYPE Operation against a key holding the wrong kind of value'), false],
    [reply('BUSYGROUP Consumer Group name already exists'), false],
    [reply('ERR unknown command'), false],
    [new Error(readOnly), false],
    [undefined, false],
  ])('whether %s of Redis means that it is away: %s', (error, expected) => {
    expect(isAway(error)).toBe(expected);
  });

  test.each<[what: string, error: unknown, trouble: Trouble]>([
    ['no connection in time', prisma({ code: 'P2024' }), 'away'],
    ['a server that closed the connection', prisma({ code: 'P1017' }), 'away'],
    ['a row that is there already', prisma({ code: 'P2002' }), 'other'],
    ['a raw statement in a deadlock', prisma({ code: 'P2010', meta: said('40P01') }), 'away'],
    ['a raw statement with a bad value', prisma({ code: 'P2010', meta: said('22P05') }), 'values'],
  ])('an error of Prisma, %s, is recognized', (_what, error, trouble) => expect(troubleOf(error)).toBe(trouble));
});
