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
INSERT INTO "message" VALUES('msg_20a1407aa001MmrfYav4GC14Ij','ses_df5ebfbd0ffe1rCWEM6zfAFJDA',1795465414570,1795465436388,'{"role":"user","time":{"created":1795465414570},"agent":"build","model":{"providerID":"fake","modelID":"fake"},"summary":{"diffs":[]}}');
INSERT INTO "message" VALUES('msg_20a1423ac001KO7az8VjTXrNYT','ses_df5ebfbd0ffe1rCWEM6zfAFJDA',1795465421740,1795465436218,'{"parentID":"msg_20a1407aa001MmrfYav4GC14Ij","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/home/dev/project","root":"/"},"cost":0,"tokens":{"total":110,"input":100,"output":10,"reasoning":0,"cache":{"write":0,"read":0}},"modelID":"fake","providerID":"fake","time":{"created":1795465421740,"completed":1795465436217},"finish":"tool-calls"}');
INSERT INTO "message" VALUES('msg_20a144480001br6KNK29UG3phQ','ses_df5ebbbedffe6RoL5Ih7aPzsH1',1795465430146,1795465435535,'{"role":"user","time":{"created":1795465430146},"agent":"general","model":{"providerID":"fake","modelID":"fake"},"summary":{"diffs":[]}}');
INSERT INTO "message" VALUES('msg_20a1445de001t1u3A1CuFgNfUt','ses_df5ebba51ffeKDfN1sYoFM1YF9',1795465430495,1795465435563,'{"role":"user","time":{"created":1795465430495},"agent":"general","model":{"providerID":"fake","modelID":"fake"},"summary":{"diffs":[]}}');
INSERT INTO "message" VALUES('msg_20a1446ea001B0Ym0rL5UuGpbN','ses_df5ebb945ffeVyKkFSta023jTS',1795465430763,1795465436338,'{"role":"user","time":{"created":1795465430763},"agent":"general","model":{"providerID":"fake","modelID":"fake"},"summary":{"diffs":[]}}');
INSERT INTO "message" VALUES('msg_20a1447d7001qE0dkuWM6SKpMt','ses_df5ebb856ffeEbE8xUs3HtX6Uy',1795465431025,1795465436325,'{"role":"user","time":{"created":1795465431025},"agent":"general","model":{"providerID":"fake","modelID":"fake"},"summary":{"diffs":[]}}');
INSERT INTO "message" VALUES('msg_20a14492a001inu15u2bFRGJId','ses_df5ebbbedffe6RoL5Ih7aPzsH1',1795465431338,1795465433464,'{"parentID":"msg_20a144480001br6KNK29UG3phQ","role":"assistant","mode":"general","agent":"general","path":{"cwd":"/home/dev/project","root":"/"},"cost":0,"tokens":{"total":110,"input":100,"output":10,"reasoning":0,"cache":{"write":0,"read":0}},"modelID":"fake","providerID":"fake","time":{"created":1795465431338,"completed":1795465433443},"finish":"stop"}');
INSERT INTO "message" VALUES('msg_20a144983001nPbLZDzjExqPVG','ses_df5ebba51ffeKDfN1sYoFM1YF9',1795465431427,1795465434965,'{"parentID":"msg_20a1445de001t1u3A1CuFgNfUt","role":"assistant","mode":"general","agent":"general","path":{"cwd":"/home/dev/project","root":"/"},"cost":0,"tokens":{"total":110,"input":100,"output":10,"reasoning":0,"cache":{"write":0,"read":0}},"modelID":"fake","providerID":"fake","time":{"created":1795465431427,"completed":1795465434964},"finish":"stop"}');
INSERT INTO "message" VALUES('msg_20a1449ea0011LNR8XqmGDyf4G','ses_df5ebb945ffeVyKkFSta023jTS',1795465431530,1795465436133,'{"parentID":"msg_20a1446ea001B0Ym0rL5UuGpbN","role":"assistant","mode":"general","agent":"general","path":{"cwd":"/home/dev/project","root":"/"},"cost":0,"tokens":{"total":110,"input":100,"output":10,"reasoning":0,"cache":{"write":0,"read":0}},"modelID":"fake","providerID":"fake","time":{"created":1795465431530,"completed":1795465436132},"finish":"stop"}');
INSERT INTO "message" VALUES('msg_20a144a34001sAP9m0x9gviFqP','ses_df5ebb856ffeEbE8xUs3HtX6Uy',1795465431604,1795465435982,'{"parentID":"msg_20a1447d7001qE0dkuWM6SKpMt","role":"assistant","mode":"general","agent":"general","path":{"cwd":"/home/dev/project","root":"/"},"cost":0,"tokens":{"total":110,"input":100,"output":10,"reasoning":0,"cache":{"write":0,"read":0}},"modelID":"fake","providerID":"fake","time":{"created":1795465431604,"completed":1795465435943},"finish":"stop"}');
INSERT INTO "message" VALUES('msg_20a145c5f001v9iEJOI8oP6LmN','ses_df5ebfbd0ffe1rCWEM6zfAFJDA',1795465436256,1795465436609,'{"parentID":"msg_20a1407aa001MmrfYav4GC14Ij","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/home/dev/project","root":"/"},"cost":0,"tokens":{"total":110,"input":100,"output":10,"reasoning":0,"cache":{"write":0,"read":0}},"modelID":"fake","providerID":"fake","time":{"created":1795465436256,"completed":1795465436608},"finish":"stop"}');
INSERT INTO "part" VALUES('prt_20a1408190015j3pRkAH3Tv35j','msg_20a1407aa001MmrfYav4GC14Ij','ses_df5ebfbd0ffe1rCWEM6zfAFJDA',1795465421627,1795465421629,'{"type":"text","text":"\"[[part:main]] go\""}');
INSERT INTO "part" VALUES('prt_20a14435f001SGJKen5aCG7Gyb','msg_20a1423ac001KO7az8VjTXrNYT','ses_df5ebfbd0ffe1rCWEM6zfAFJDA',1795465429855,1795465429898,'{"type":"step-start"}');
INSERT INTO "part" VALUES('prt_20a1443b9001tY8AmeMJbQ3rr1','msg_20a1423ac001KO7az8VjTXrNYT','ses_df5ebfbd0ffe1rCWEM6zfAFJDA',1795465429945,1795465433944,'{"type":"tool","tool":"task","callID":"call_main_0_0","state":{"status":"completed","input":{"subagent_type":"general","description":"a","prompt":"[[part:a]] work"},"output":"<task id=\"ses_df5ebbbedffe6RoL5Ih7aPzsH1\" state=\"completed\">\n<task_result>\nresult a\n</task_result>\n</task>","metadata":{"parentSessionId":"ses_df5ebfbd0ffe1rCWEM6zfAFJDA","sessionId":"ses_df5ebbbedffe6RoL5Ih7aPzsH1","model":{"modelID":"fake","providerID":"fake"},"truncated":false},"title":"a","time":{"start":1795465430075,"end":1795465433928}}}');
INSERT INTO "part" VALUES('prt_20a1444d5001q3DDHQ6WfrGUVI','msg_20a144480001br6KNK29UG3phQ','ses_df5ebbbedffe6RoL5Ih7aPzsH1',1795465430231,1795465430257,'{"type":"text","text":"[[part:a]] work"}');
INSERT INTO "part" VALUES('prt_20a14455f001ULZ5r0aefn7Fsh','msg_20a1423ac001KO7az8VjTXrNYT','ses_df5ebfbd0ffe1rCWEM6zfAFJDA',1795465430367,1795465435398,'{"type":"tool","tool":"task","callID":"call_main_0_1","state":{"status":"completed","input":{"subagent_type":"general","description":"b","prompt":"[[part:b]] work"},"output":"<task id=\"ses_df5ebba51ffeKDfN1sYoFM1YF9\" state=\"completed\">\n<task_result>\nresult b\n</task_result>\n</task>","metadata":{"parentSessionId":"ses_df5ebfbd0ffe1rCWEM6zfAFJDA","sessionId":"ses_df5ebba51ffeKDfN1sYoFM1YF9","model":{"modelID":"fake","providerID":"fake"},"truncated":false},"title":"b","time":{"start":1795465430466,"end":1795465435397}}}');
INSERT INTO "part" VALUES('prt_20a1445f3001sYbIR7PcmXju1Z','msg_20a1445de001t1u3A1CuFgNfUt','ses_df5ebba51ffeKDfN1sYoFM1YF9',1795465430541,1795465430542,'{"type":"text","text":"[[part:b]] work"}');
INSERT INTO "part" VALUES('prt_20a144681001swLJDGyx5DdvRI','msg_20a1423ac001KO7az8VjTXrNYT','ses_df5ebfbd0ffe1rCWEM6zfAFJDA',1795465430658,1795465436162,'{"type":"tool","tool":"task","callID":"call_main_0_2","state":{"status":"completed","input":{"subagent_type":"general","description":"c","prompt":"[[part:c]] work"},"output":"<task id=\"ses_df5ebb945ffeVyKkFSta023jTS\" state=\"completed\">\n<task_result>\nresult c\n</task_result>\n</task>","metadata":{"parentSessionId":"ses_df5ebfbd0ffe1rCWEM6zfAFJDA","sessionId":"ses_df5ebb945ffeVyKkFSta023jTS","model":{"modelID":"fake","providerID":"fake"},"truncated":false},"title":"c","time":{"start":1795465430734,"end":1795465436161}}}');
INSERT INTO "part" VALUES('prt_20a144724001y54Pntnf3ekJV3','msg_20a1446ea001B0Ym0rL5UuGpbN','ses_df5ebb945ffeVyKkFSta023jTS',1795465430822,1795465430823,'{"type":"text","text":"[[part:c]] work"}');
INSERT INTO "part" VALUES('prt_20a144785001fez9qWjuuDlDaP','msg_20a1423ac001KO7az8VjTXrNYT','ses_df5ebfbd0ffe1rCWEM6zfAFJDA',1795465430917,1795465436021,'{"type":"tool","tool":"task","callID":"call_main_0_3","state":{"status":"completed","input":{"subagent_type":"general","description":"d","prompt":"[[part:d]] work"},"output":"<task id=\"ses_df5ebb856ffeEbE8xUs3HtX6Uy\" state=\"completed\">\n<task_result>\nresult d\n</task_result>\n</task>","metadata":{"parentSessionId":"ses_df5ebfbd0ffe1rCWEM6zfAFJDA","sessionId":"ses_df5ebb856ffeEbE8xUs3HtX6Uy","model":{"modelID":"fake","providerID":"fake"},"truncated":false},"title":"d","time":{"start":1795465430996,"end":1795465436020}}}');
INSERT INTO "part" VALUES('prt_20a144817001TwIzc50DPWTnqC','msg_20a1447d7001qE0dkuWM6SKpMt','ses_df5ebb856ffeEbE8xUs3HtX6Uy',1795465431087,1795465431089,'{"type":"text","text":"[[part:d]] work"}');
INSERT INTO "part" VALUES('prt_20a144f36001gw2tGUGnUENH3S','msg_20a14492a001inu15u2bFRGJId','ses_df5ebbbedffe6RoL5Ih7aPzsH1',1795465432886,1795465432987,'{"type":"step-start"}');
INSERT INTO "part" VALUES('prt_20a144fc6001mhp6HSH8LuxXfL','msg_20a14492a001inu15u2bFRGJId','ses_df5ebbbedffe6RoL5Ih7aPzsH1',1795465433030,1795465433148,'{"type":"text","text":"result a","time":{"start":1795465433030,"end":1795465433134}}');
INSERT INTO "part" VALUES('prt_20a145098001wvKFzUDs96E3Xi','msg_20a14492a001inu15u2bFRGJId','ses_df5ebbbedffe6RoL5Ih7aPzsH1',1795465433272,1795465433290,'{"reason":"stop","type":"step-finish","tokens":{"total":110,"input":100,"output":10,"reasoning":0,"cache":{"write":0,"read":0}},"cost":0}');
INSERT INTO "part" VALUES('prt_20a14541c001pstzMlycPwXBPw','msg_20a144983001nPbLZDzjExqPVG','ses_df5ebba51ffeKDfN1sYoFM1YF9',1795465434140,1795465434214,'{"type":"step-start"}');
INSERT INTO "part" VALUES('prt_20a14547a001xQqTPjaGZk6QwK','msg_20a144983001nPbLZDzjExqPVG','ses_df5ebba51ffeKDfN1sYoFM1YF9',1795465434250,1795465434855,'{"type":"text","text":"result b","time":{"start":1795465434234,"end":1795465434790}}');
INSERT INTO "part" VALUES('prt_20a145704001b4ybB2rP03BBm6','msg_20a144983001nPbLZDzjExqPVG','ses_df5ebba51ffeKDfN1sYoFM1YF9',1795465434884,1795465434886,'{"reason":"stop","type":"step-finish","tokens":{"total":110,"input":100,"output":10,"reasoning":0,"cache":{"write":0,"read":0}},"cost":0}');
INSERT INTO "part" VALUES('prt_20a145a700015ShZ7Wa77Q1zbx','msg_20a144a34001sAP9m0x9gviFqP','ses_df5ebb856ffeEbE8xUs3HtX6Uy',1795465435761,1795465435762,'{"type":"step-start"}');
INSERT INTO "part" VALUES('prt_20a145a84001hi4PO6RqzE8z36','msg_20a144a34001sAP9m0x9gviFqP','ses_df5ebb856ffeEbE8xUs3HtX6Uy',1795465435780,1795465435807,'{"type":"text","text":"result d","time":{"start":1795465435780,"end":1795465435806}}');
INSERT INTO "part" VALUES('prt_20a145ad9001Rzz4i3csk3G8Lf','msg_20a144a34001sAP9m0x9gviFqP','ses_df5ebb856ffeEbE8xUs3HtX6Uy',1795465435866,1795465435867,'{"reason":"stop","type":"step-finish","tokens":{"total":110,"input":100,"output":10,"reasoning":0,"cache":{"write":0,"read":0}},"cost":0}');
INSERT INTO "part" VALUES('prt_20a145b97001JjXdFX0PCe7Ofq','msg_20a1449ea0011LNR8XqmGDyf4G','ses_df5ebb945ffeVyKkFSta023jTS',1795465436055,1795465436073,'{"type":"step-start"}');
INSERT INTO "part" VALUES('prt_20a145baa001KDrluGiIdXU7fN','msg_20a1449ea0011LNR8XqmGDyf4G','ses_df5ebb945ffeVyKkFSta023jTS',1795465436074,1795465436086,'{"type":"text","text":"result c","time":{"start":1795465436074,"end":1795465436085}}');
INSERT INTO "part" VALUES('prt_20a145bbc001b8gA7w7sUjkybP','msg_20a1449ea0011LNR8XqmGDyf4G','ses_df5ebb945ffeVyKkFSta023jTS',1795465436092,1795465436093,'{"reason":"stop","type":"step-finish","tokens":{"total":110,"input":100,"output":10,"reasoning":0,"cache":{"write":0,"read":0}},"cost":0}');
INSERT INTO "part" VALUES('prt_20a145c1c001PYiQ0r8Jafmf13','msg_20a1423ac001KO7az8VjTXrNYT','ses_df5ebfbd0ffe1rCWEM6zfAFJDA',1795465436188,1795465436189,'{"reason":"tool-calls","type":"step-finish","tokens":{"total":110,"input":100,"output":10,"reasoning":0,"cache":{"write":0,"read":0}},"cost":0}');
INSERT INTO "part" VALUES('prt_20a145d8a001uePTt1svDyOGaT','msg_20a145c5f001v9iEJOI8oP6LmN','ses_df5ebfbd0ffe1rCWEM6zfAFJDA',1795465436554,1795465436559,'{"type":"step-start"}');
INSERT INTO "part" VALUES('prt_20a145d91001vt5cEJBu3Sqv81','msg_20a145c5f001v9iEJOI8oP6LmN','ses_df5ebfbd0ffe1rCWEM6zfAFJDA',1795465436561,1795465436570,'{"type":"text","text":"All done.","time":{"start":1795465436561,"end":1795465436569}}');
INSERT INTO "part" VALUES('prt_20a145d9b001n2KO7Uom1X8U2e','msg_20a145c5f001v9iEJOI8oP6LmN','ses_df5ebfbd0ffe1rCWEM6zfAFJDA',1795465436584,1795465436585,'{"reason":"stop","type":"step-finish","tokens":{"total":110,"input":100,"output":10,"reasoning":0,"cache":{"write":0,"read":0}},"cost":0}');
INSERT INTO "session" VALUES('ses_df5ebfbd0ffe1rCWEM6zfAFJDA','global',NULL,NULL,'happy-sailor','/home/dev/project','home/dev/project','ok','1.18.33',NULL,0,0,0,NULL,NULL,0.0,200,20,0,0,0,NULL,'[{"permission":"question","pattern":"*","action":"deny"},{"permission":"plan_enter","pattern":"*","action":"deny"},{"permission":"plan_exit","pattern":"*","action":"deny"}]','build','{"id":"fake","providerID":"fake","variant":"default"}',1795465413679,1795465436858,NULL,NULL);
INSERT INTO "session" VALUES('ses_df5ebbbedffe6RoL5Ih7aPzsH1','global',NULL,'ses_df5ebfbd0ffe1rCWEM6zfAFJDA','jolly-pixel','/home/dev/project','home/dev/project','a (@general subagent)','1.18.33',NULL,0,0,0,NULL,NULL,0.0,100,10,0,0,0,NULL,'[{"permission":"question","pattern":"*","action":"deny"},{"permission":"plan_enter","pattern":"*","action":"deny"},{"permission":"plan_exit","pattern":"*","action":"deny"},{"permission":"task","pattern":"*","action":"deny"}]','general','{"id":"fake","providerID":"fake","variant":"default"}',1795465430034,1795465435528,NULL,NULL);
INSERT INTO "session" VALUES('ses_df5ebba51ffeKDfN1sYoFM1YF9','global',NULL,'ses_df5ebfbd0ffe1rCWEM6zfAFJDA','neon-panda','/home/dev/project','home/dev/project','b (@general subagent)','1.18.33',NULL,0,0,0,NULL,NULL,0.0,100,10,0,0,0,NULL,'[{"permission":"question","pattern":"*","action":"deny"},{"permission":"plan_enter","pattern":"*","action":"deny"},{"permission":"plan_exit","pattern":"*","action":"deny"},{"permission":"task","pattern":"*","action":"deny"}]','general','{"id":"fake","providerID":"fake","variant":"default"}',1795465430446,1795465435539,NULL,NULL);
INSERT INTO "session" VALUES('ses_df5ebb945ffeVyKkFSta023jTS','global',NULL,'ses_df5ebfbd0ffe1rCWEM6zfAFJDA','swift-circuit','/home/dev/project','home/dev/project','c (@general subagent)','1.18.33',NULL,0,0,0,NULL,NULL,0.0,100,10,0,0,0,NULL,'[{"permission":"question","pattern":"*","action":"deny"},{"permission":"plan_enter","pattern":"*","action":"deny"},{"permission":"plan_exit","pattern":"*","action":"deny"},{"permission":"task","pattern":"*","action":"deny"}]','general','{"id":"fake","providerID":"fake","variant":"default"}',1795465430714,1795465436325,NULL,NULL);
INSERT INTO "session" VALUES('ses_df5ebb856ffeEbE8xUs3HtX6Uy','global',NULL,'ses_df5ebfbd0ffe1rCWEM6zfAFJDA','mighty-otter','/home/dev/project','home/dev/project','d (@general subagent)','1.18.33',NULL,0,0,0,NULL,NULL,0.0,100,10,0,0,0,NULL,'[{"permission":"question","pattern":"*","action":"deny"},{"permission":"plan_enter","pattern":"*","action":"deny"},{"permission":"plan_exit","pattern":"*","action":"deny"},{"permission":"task","pattern":"*","action":"deny"}]','general','{"id":"fake","providerID":"fake","variant":"default"}',1795465430953,1795465436320,NULL,NULL);
