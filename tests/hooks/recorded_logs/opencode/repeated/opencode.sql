CREATE TABLE `session` (
          `id` text PRIMARY KEY,
          `project_id` text NOT NULL,
          `workspace_id` text,
          `parent_id` text,
          `slug` text NOT NULL,
          `directory` text NOT NULL,
          `path` text,
          `title` text NOT NULL,
          `version` text NOT NULL,
          `share_url` text,
          `summary_additions` integer,
          `summary_deletions` integer,
          `summary_files` integer,
          `summary_diffs` text,
          `metadata` text,
          `cost` real DEFAULT 0 NOT NULL,
          `tokens_input` integer DEFAULT 0 NOT NULL,
          `tokens_output` integer DEFAULT 0 NOT NULL,
          `tokens_reasoning` integer DEFAULT 0 NOT NULL,
          `tokens_cache_read` integer DEFAULT 0 NOT NULL,
          `tokens_cache_write` integer DEFAULT 0 NOT NULL,
          `revert` text,
          `permission` text,
          `agent` text,
          `model` text,
          `time_created` integer NOT NULL,
          `time_updated` integer NOT NULL,
          `time_compacting` integer,
          `time_archived` integer,
          CONSTRAINT `fk_session_project_id_project_id_fk` FOREIGN KEY (`project_id`) REFERENCES `project`(`id`) ON DELETE CASCADE
        );
CREATE TABLE `message` (
          `id` text PRIMARY KEY,
          `session_id` text NOT NULL,
          `time_created` integer NOT NULL,
          `time_updated` integer NOT NULL,
          `data` text NOT NULL,
          CONSTRAINT `fk_message_session_id_session_id_fk` FOREIGN KEY (`session_id`) REFERENCES `session`(`id`) ON DELETE CASCADE
        );
CREATE TABLE `part` (
          `id` text PRIMARY KEY,
          `message_id` text NOT NULL,
          `session_id` text NOT NULL,
          `time_created` integer NOT NULL,
          `time_updated` integer NOT NULL,
          `data` text NOT NULL,
          CONSTRAINT `fk_part_message_id_message_id_fk` FOREIGN KEY (`message_id`) REFERENCES `message`(`id`) ON DELETE CASCADE
        );
INSERT INTO "message" VALUES('msg_20a1352fc00113rVs74KxU9AAN','ses_df5ecb611ffevLKcgRfbxJCExN',1795465368316,1795465392259,'{"role":"user","time":{"created":1795465368316},"agent":"build","model":{"providerID":"fake","modelID":"fake"},"summary":{"diffs":[]}}');
INSERT INTO "message" VALUES('msg_20a13711a0012YGsAMpe7MZ7kA','ses_df5ecb611ffevLKcgRfbxJCExN',1795465376026,1795465386046,'{"parentID":"msg_20a1352fc00113rVs74KxU9AAN","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/home/dev/project","root":"/"},"cost":0,"tokens":{"total":110,"input":100,"output":10,"reasoning":0,"cache":{"write":0,"read":0}},"modelID":"fake","providerID":"fake","time":{"created":1795465376026,"completed":1795465386045},"finish":"tool-calls"}');
INSERT INTO "message" VALUES('msg_20a13988f001mluHEqKVzdQoTl','ses_df5ecb611ffevLKcgRfbxJCExN',1795465386127,1795465387286,'{"parentID":"msg_20a1352fc00113rVs74KxU9AAN","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/home/dev/project","root":"/"},"cost":0,"tokens":{"total":110,"input":100,"output":10,"reasoning":0,"cache":{"write":0,"read":0}},"modelID":"fake","providerID":"fake","time":{"created":1795465386127,"completed":1795465387285},"finish":"tool-calls"}');
INSERT INTO "message" VALUES('msg_20a139d6e001hox5DDGzQIQSbY','ses_df5ecb611ffevLKcgRfbxJCExN',1795465387374,1795465388394,'{"parentID":"msg_20a1352fc00113rVs74KxU9AAN","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/home/dev/project","root":"/"},"cost":0,"tokens":{"total":110,"input":100,"output":10,"reasoning":0,"cache":{"write":0,"read":0}},"modelID":"fake","providerID":"fake","time":{"created":1795465387374,"completed":1795465388393},"finish":"tool-calls"}');
INSERT INTO "message" VALUES('msg_20a13a180001Umt9LVMjN3FR1X','ses_df5ecb611ffevLKcgRfbxJCExN',1795465388416,1795465389669,'{"parentID":"msg_20a1352fc00113rVs74KxU9AAN","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/home/dev/project","root":"/"},"cost":0,"tokens":{"total":110,"input":100,"output":10,"reasoning":0,"cache":{"write":0,"read":0}},"modelID":"fake","providerID":"fake","time":{"created":1795465388416,"completed":1795465389634},"finish":"tool-calls"}');
INSERT INTO "message" VALUES('msg_20a13a688001A8FFCbt3XSxYAX','ses_df5ecb611ffevLKcgRfbxJCExN',1795465389704,1795465391882,'{"parentID":"msg_20a1352fc00113rVs74KxU9AAN","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/home/dev/project","root":"/"},"cost":0,"tokens":{"total":110,"input":100,"output":10,"reasoning":0,"cache":{"write":0,"read":0}},"modelID":"fake","providerID":"fake","time":{"created":1795465389704,"completed":1795465391881},"finish":"tool-calls"}');
INSERT INTO "message" VALUES('msg_20a13af41001SzHAxQ7p217hk0','ses_df5ecb611ffevLKcgRfbxJCExN',1795465391937,1795465394346,'{"parentID":"msg_20a1352fc00113rVs74KxU9AAN","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/home/dev/project","root":"/"},"cost":0,"tokens":{"total":110,"input":100,"output":10,"reasoning":0,"cache":{"write":0,"read":0}},"modelID":"fake","providerID":"fake","time":{"created":1795465391937,"completed":1795465394345},"finish":"stop"}');
INSERT INTO "part" VALUES('prt_20a13538b001ttHTmuSEJ0DifU','msg_20a1352fc00113rVs74KxU9AAN','ses_df5ecb611ffevLKcgRfbxJCExN',1795465375899,1795465375906,'{"type":"text","text":"\"[[part:main]] go\""}');
INSERT INTO "part" VALUES('prt_20a1387560017ikKHpH4rgq0bY','msg_20a13711a0012YGsAMpe7MZ7kA','ses_df5ecb611ffevLKcgRfbxJCExN',1795465381718,1795465381786,'{"type":"step-start"}');
INSERT INTO "part" VALUES('prt_20a1387a6001uP1giIUN9zXBLA','msg_20a13711a0012YGsAMpe7MZ7kA','ses_df5ecb611ffevLKcgRfbxJCExN',1795465381816,1795465385227,'{"type":"tool","tool":"bash","callID":"call_main_0_0","state":{"status":"completed","input":{"command":"echo hi","description":"greets"},"output":"hi\n","metadata":{"output":"hi\n","exit":0,"truncated":false},"title":"echo hi","time":{"start":1795465381914,"end":1795465385093}}}');
INSERT INTO "part" VALUES('prt_20a139782001AmXUrK6GdJ0PwU','msg_20a13711a0012YGsAMpe7MZ7kA','ses_df5ecb611ffevLKcgRfbxJCExN',1795465385858,1795465385931,'{"reason":"tool-calls","type":"step-finish","tokens":{"total":110,"input":100,"output":10,"reasoning":0,"cache":{"write":0,"read":0}},"cost":0}');
INSERT INTO "part" VALUES('prt_20a139b980012iauuERDSwzGYf','msg_20a13988f001mluHEqKVzdQoTl','ses_df5ecb611ffevLKcgRfbxJCExN',1795465386904,1795465386906,'{"type":"step-start"}');
INSERT INTO "part" VALUES('prt_20a139bc0001qjSNbph5WjWGav','msg_20a13988f001mluHEqKVzdQoTl','ses_df5ecb611ffevLKcgRfbxJCExN',1795465386944,1795465387232,'{"type":"tool","tool":"bash","callID":"call_main_1_0","state":{"status":"completed","input":{"command":"echo hi","description":"greets"},"output":"hi\n","metadata":{"output":"hi\n","exit":0,"truncated":false},"title":"echo hi","time":{"start":1795465387021,"end":1795465387210}}}');
INSERT INTO "part" VALUES('prt_20a139ce5001lGaoQD3WkHGzGb','msg_20a13988f001mluHEqKVzdQoTl','ses_df5ecb611ffevLKcgRfbxJCExN',1795465387237,1795465387238,'{"reason":"tool-calls","type":"step-finish","tokens":{"total":110,"input":100,"output":10,"reasoning":0,"cache":{"write":0,"read":0}},"cost":0}');
INSERT INTO "part" VALUES('prt_20a139f7c001imvORwk4M6Jy3p','msg_20a139d6e001hox5DDGzQIQSbY','ses_df5ecb611ffevLKcgRfbxJCExN',1795465387900,1795465387901,'{"type":"step-start"}');
INSERT INTO "part" VALUES('prt_20a139f7e001aFVjnJzce3q8ap','msg_20a139d6e001hox5DDGzQIQSbY','ses_df5ecb611ffevLKcgRfbxJCExN',1795465387903,1795465388302,'{"type":"tool","tool":"bash","callID":"call_main_2_0","state":{"status":"completed","input":{"command":"echo hi","description":"greets"},"output":"hi\n","metadata":{"output":"hi\n","exit":0,"truncated":false},"title":"echo hi","time":{"start":1795465387907,"end":1795465388301}}}');
INSERT INTO "part" VALUES('prt_20a13a131001EmLGMuyVsJeZLK','msg_20a139d6e001hox5DDGzQIQSbY','ses_df5ecb611ffevLKcgRfbxJCExN',1795465388338,1795465388339,'{"reason":"tool-calls","type":"step-finish","tokens":{"total":110,"input":100,"output":10,"reasoning":0,"cache":{"write":0,"read":0}},"cost":0}');
INSERT INTO "part" VALUES('prt_20a13a3c2001sBbR1OwOGpKHS6','msg_20a13a180001Umt9LVMjN3FR1X','ses_df5ecb611ffevLKcgRfbxJCExN',1795465388994,1795465389069,'{"type":"step-start"}');
INSERT INTO "part" VALUES('prt_20a13a40e001goX9R0Uin3O04n','msg_20a13a180001Umt9LVMjN3FR1X','ses_df5ecb611ffevLKcgRfbxJCExN',1795465389071,1795465389571,'{"type":"tool","tool":"bash","callID":"call_main_3_0","state":{"status":"completed","input":{"command":"echo hi","description":"greets"},"output":"hi\n","metadata":{"output":"hi\n","exit":0,"truncated":false},"title":"echo hi","time":{"start":1795465389215,"end":1795465389570}}}');
INSERT INTO "part" VALUES('prt_20a13a62c001yBFXB86kMoV6ze','msg_20a13a180001Umt9LVMjN3FR1X','ses_df5ecb611ffevLKcgRfbxJCExN',1795465389612,1795465389613,'{"reason":"tool-calls","type":"step-finish","tokens":{"total":110,"input":100,"output":10,"reasoning":0,"cache":{"write":0,"read":0}},"cost":0}');
INSERT INTO "part" VALUES('prt_20a13ad5b001pqy4oF7RBGmPe2','msg_20a13a688001A8FFCbt3XSxYAX','ses_df5ecb611ffevLKcgRfbxJCExN',1795465391451,1795465391453,'{"type":"step-start"}');
INSERT INTO "part" VALUES('prt_20a13ad7c001Di0xB6VdrnFm92','msg_20a13a688001A8FFCbt3XSxYAX','ses_df5ecb611ffevLKcgRfbxJCExN',1795465391484,1795465391773,'{"type":"tool","tool":"bash","callID":"call_main_4_0","state":{"status":"completed","input":{"command":"echo hi","description":"greets"},"output":"hi\n","metadata":{"output":"hi\n","exit":0,"truncated":false},"title":"echo hi","time":{"start":1795465391507,"end":1795465391747}}}');
INSERT INTO "part" VALUES('prt_20a13aeaa001qaTwem1zvWr9wf','msg_20a13a688001A8FFCbt3XSxYAX','ses_df5ecb611ffevLKcgRfbxJCExN',1795465391786,1795465391787,'{"reason":"tool-calls","type":"step-finish","tokens":{"total":110,"input":100,"output":10,"reasoning":0,"cache":{"write":0,"read":0}},"cost":0}');
INSERT INTO "part" VALUES('prt_20a13b894001vnLrp5lQ8n8ecf','msg_20a13af41001SzHAxQ7p217hk0','ses_df5ecb611ffevLKcgRfbxJCExN',1795465394324,1795465394326,'{"type":"step-start"}');
INSERT INTO "part" VALUES('prt_20a13b898001XK0YmJTgw5t1Us','msg_20a13af41001SzHAxQ7p217hk0','ses_df5ecb611ffevLKcgRfbxJCExN',1795465394328,1795465394332,'{"type":"text","text":"All done.","time":{"start":1795465394328,"end":1795465394331}}');
INSERT INTO "part" VALUES('prt_20a13b89d001Z7rt6h6ya6sOQp','msg_20a13af41001SzHAxQ7p217hk0','ses_df5ecb611ffevLKcgRfbxJCExN',1795465394333,1795465394334,'{"reason":"stop","type":"step-finish","tokens":{"total":110,"input":100,"output":10,"reasoning":0,"cache":{"write":0,"read":0}},"cost":0}');
INSERT INTO "session" VALUES('ses_df5ecb611ffevLKcgRfbxJCExN','global',NULL,NULL,'happy-comet','/home/dev/project','home/dev/project','ok','1.18.33',NULL,0,0,0,NULL,NULL,0.0,600,60,0,0,0,NULL,'[{"permission":"question","pattern":"*","action":"deny"},{"permission":"plan_enter","pattern":"*","action":"deny"},{"permission":"plan_exit","pattern":"*","action":"deny"}]','build','{"id":"fake","providerID":"fake","variant":"default"}',1795465365999,1795465394506,NULL,NULL);
